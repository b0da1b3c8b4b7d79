; Label the lines of drawings of solid bodies: convex (+), concave (-), or an outline that has its body on the right, which
; goes away from a point (out) or comes to it (in). Each kind of junction allows some forms. A form that says of a line
; what no form at its other end says is struck out, until none is.
(deftemplate line (slot from) (slot to) (slot direction))
(deftemplate known (slot from) (slot to) (slot label))
(deftemplate edge (slot from) (slot to) (slot direction))
(deftemplate left (slot direction) (slot other))
(deftemplate back (slot direction) (slot other))
(deftemplate junction (slot point) (slot kind) (slot first) (slot second) (slot third))
(deftemplate may (slot from) (slot to) (slot form) (slot label))
(deftemplate struck (slot from) (slot form))
(deftemplate form (slot kind) (slot number) (slot first) (slot second) (slot third))
(deftemplate opposite (slot label) (slot other))

(deffacts dictionary
  (form (kind L) (number 1) (first in) (second out)) (form (kind L) (number 2) (first out) (second in))
  (form (kind L) (number 3) (first +) (second out)) (form (kind L) (number 4) (first in) (second +))
  (form (kind L) (number 5) (first -) (second in)) (form (kind L) (number 6) (first out) (second -))
  (form (kind arrow) (number 1) (first in) (second +) (third out))
  (form (kind arrow) (number 2) (first +) (second -) (third +))
  (form (kind arrow) (number 3) (first -) (second +) (third -))
  (form (kind fork) (number 1) (first +) (second +) (third +))
  (form (kind fork) (number 2) (first -) (second -) (third -))
  (form (kind fork) (number 3) (first out) (second in) (third -))
  (form (kind fork) (number 4) (first -) (second out) (third in))
  (form (kind fork) (number 5) (first in) (second -) (third out))
  (form (kind tee) (number 1) (first out) (second +) (third in))
  (form (kind tee) (number 2) (first out) (second -) (third in))
  (form (kind tee) (number 3) (first out) (second out) (third in))
  (form (kind tee) (number 4) (first out) (second in) (third in))
  (opposite (label +) (other +)) (opposite (label -) (other -))
  (opposite (label in) (other out)) (opposite (label out) (other in)))

(deffacts directions
  (left (direction 0) (other 1)) (left (direction 0) (other 2)) (left (direction 0) (other 3))
  (back (direction 0) (other 4))
  (left (direction 1) (other 2)) (left (direction 1) (other 3)) (left (direction 1) (other 4))
  (back (direction 1) (other 5))
  (left (direction 2) (other 3)) (left (direction 2) (other 4)) (left (direction 2) (other 5))
  (back (direction 2) (other 6))
  (left (direction 3) (other 4)) (left (direction 3) (other 5)) (left (direction 3) (other 6))
  (back (direction 3) (other 7))
  (left (direction 4) (other 5)) (left (direction 4) (other 6)) (left (direction 4) (other 7))
  (back (direction 4) (other 0))
  (left (direction 5) (other 6)) (left (direction 5) (other 7)) (left (direction 5) (other 0))
  (back (direction 5) (other 1))
  (left (direction 6) (other 7)) (left (direction 6) (other 0)) (left (direction 6) (other 1))
  (back (direction 6) (other 2))
  (left (direction 7) (other 0)) (left (direction 7) (other 1)) (left (direction 7) (other 2))
  (back (direction 7) (other 3)))

(defrule make-edges
  (declare (salience 4))
  ?line <- (line (from ?p) (to ?q) (direction ?d))
  (back (direction ?d) (other ?e))
  =>
  (retract ?line)
  (assert (edge (from ?p) (to ?q) (direction ?d)))
  (assert (edge (from ?q) (to ?p) (direction ?e))))

(defrule arrows
  (declare (salience 3))
  (edge (from ?p) (to ?a) (direction ?d))
  (edge (from ?p) (to ?b) (direction ?e))
  (left (direction ?d) (other ?e))
  (edge (from ?p) (to ?c) (direction ?f))
  (left (direction ?e) (other ?f))
  (left (direction ?d) (other ?f))
  =>
  (assert (junction (point ?p) (kind arrow) (first ?a) (second ?b) (third ?c))))

(defrule forks
  (declare (salience 3))
  (edge (from ?p) (to ?a) (direction ?d))
  (edge (from ?p) (to ?b&:(< ?a ?b)) (direction ?e))
  (left (direction ?d) (other ?e))
  (edge (from ?p) (to ?c&:(< ?a ?c)) (direction ?f))
  (left (direction ?e) (other ?f))
  (left (direction ?f) (other ?d))
  =>
  (assert (junction (point ?p) (kind fork) (first ?a) (second ?b) (third ?c))))

(defrule tees
  (declare (salience 3))
  (edge (from ?p) (to ?a) (direction ?d))
  (back (direction ?d) (other ?f))
  (edge (from ?p) (to ?c) (direction ?f))
  (edge (from ?p) (to ?b) (direction ?e))
  (left (direction ?d) (other ?e))
  =>
  (assert (junction (point ?p) (kind tee) (first ?a) (second ?b) (third ?c))))

(defrule corners
  (declare (salience 3))
  (edge (from ?p) (to ?a) (direction ?d))
  (edge (from ?p) (to ?b) (direction ?e))
  (left (direction ?d) (other ?e))
  (not (edge (from ?p) (to ~?a&~?b)))
  =>
  (assert (junction (point ?p) (kind L) (first ?a) (second ?b) (third 0))))

(defrule two-labels
  (declare (salience 2))
  (junction (point ?p) (kind L) (first ?a) (second ?b))
  (form (kind L) (number ?number) (first ?first) (second ?second))
  =>
  (assert (may (from ?p) (to ?a) (form ?number) (label ?first)))
  (assert (may (from ?p) (to ?b) (form ?number) (label ?second))))

(defrule three-labels
  (declare (salience 2))
  (junction (point ?p) (kind ?kind&~L) (first ?a) (second ?b) (third ?c))
  (form (kind ?kind) (number ?number) (first ?first) (second ?second) (third ?third))
  =>
  (assert (may (from ?p) (to ?a) (form ?number) (label ?first)))
  (assert (may (from ?p) (to ?b) (form ?number) (label ?second)))
  (assert (may (from ?p) (to ?c) (form ?number) (label ?third))))

(defrule agree-with-known
  (declare (salience 1))
  (known (from ?p) (to ?q) (label ?label))
  (may (from ?p) (to ?q) (form ?number) (label ~?label))
  =>
  (assert (struck (from ?p) (form ?number))))

(defrule agree-with-other-end
  (may (from ?p) (to ?q) (form ?number) (label ?label))
  (opposite (label ?label) (other ?other))
  (not (may (from ?q) (to ?p) (label ?other)))
  =>
  (assert (struck (from ?p) (form ?number))))

(defrule strike-out
  (declare (salience 2))
  (struck (from ?p) (form ?number))
  ?may <- (may (from ?p) (form ?number))
  =>
  (retract ?may))
