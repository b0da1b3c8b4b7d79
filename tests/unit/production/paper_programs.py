"""The programs of Fabret, Regnier and Simon 1993, in our syntax; their Greek constants are strings."""

FOUR_RULES = """
.production set
.decl A(x: symbol, y: symbol, z: symbol)
.decl B(x: symbol, y: symbol, z: symbol)
.decl C(x: symbol, y: symbol)
.decl D(x: symbol, y: symbol, z: symbol)
.decl E(x: symbol, y: symbol, z: symbol)
.decl F(x: symbol, y: symbol)
+C(x, z) :- A(x, "alpha", y), B(y, "beta", z), E(z, v, "gamma"), !F(x, z). [name r1]
+D(z, u, x) :- C(x, y), D(y, z, u). [name r2]
+D("delta", z, x), -C(y, x) :- B(x, y, "beta"), !D("delta", y, x), E(z, u, x). [name r3]
-A(y, t, x), +F(z, y) :- A(x, y, z), D("delta", x, y), C(z, t), F(z, w). [name r4, priority -1]
"""
"""Example 5.1, with the priorities of section 5.2: the first three rules have priority over the fourth."""

R1 = """
.production instance
.decl A(x: number, s: symbol, z: number)
.decl B(x: number, y: number, s: symbol)
.decl C(s: symbol, y: number, w: number)
+C("gamma", x, w), -C("gamma", y, z) :- A(x, "alpha", z), B(x, y, "beta"), C("gamma", y, w).
"""
"""The rule of section 3.1."""

R1_FACTS = {
    "A": [(0, "alpha", 1), (2, "alpha", 0), (3, "alpha", 1)],
    "B": [(0, 2, "beta"), (2, 0, "beta"), (3, 2, "beta"), (4, 3, "beta")],
    "C": [("gamma", 2, 1), ("gamma", 0, 3)],
}
"""Table 1."""
