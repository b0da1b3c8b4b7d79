; Whoever is near a place that he uses can use what is requested there.
(deftemplate near (slot x (type INTEGER)) (slot z (type INTEGER)))
(deftemplate use (slot x (type INTEGER)) (slot z (type INTEGER)))
(deftemplate request (slot z (type INTEGER)) (slot y (type INTEGER)))
(deftemplate result (slot x (type INTEGER)) (slot y (type INTEGER)))

(defrule can-use
  (near (x ?x) (z ?z))
  (use (x ?x) (z ?z))
  (request (z ?z) (y ?y))
  =>
  (assert (result (x ?x) (y ?y))))
