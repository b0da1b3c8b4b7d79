"""Takes the names of workloads, prints what Tidelog and its peers took for each, as a Markdown table."""
