"""Takes an answer, returns its proof: the rules and facts behind it. Empty so far: recorder, proof, rendering."""
