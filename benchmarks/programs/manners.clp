; Seat the guests of each party in a row so that neighbours are of different sex and share a hobby. A seating knows its
; parent, and has the whole row of guests up to it as paths of its own. The phase of a party says where its search is; where
; nobody fits, it goes back to the parent, which does not choose the same guest again.
(deftemplate guest (slot party) (slot name) (slot sex) (slot hobby))
(deftemplate seats (slot party) (slot number))
(deftemplate seating (slot party) (slot id) (slot parent) (slot guest) (slot seat))
(deftemplate path (slot party) (slot id) (slot guest) (slot seat))
(deftemplate phase (slot party) (slot is) (slot at) (slot newest))

(defrule first-seat
  (seats (party ?party))
  (not (phase (party ?party)))
  (guest (party ?party) (name ?guest))
  =>
  (assert (seating (party ?party) (id 1) (parent 0) (guest ?guest) (seat 1)))
  (assert (path (party ?party) (id 1) (guest ?guest) (seat 1)))
  (assert (phase (party ?party) (is seat) (at 1) (newest 1))))

(defrule find-seat
  ?phase <- (phase (party ?party) (is seat) (at ?parent) (newest ?newest))
  (seating (party ?party) (id ?parent) (guest ?left) (seat ?seat))
  (guest (party ?party) (name ?left) (sex ?sex) (hobby ?hobby))
  (guest (party ?party) (name ?right) (sex ~?sex) (hobby ?hobby))
  (not (path (party ?party) (id ?parent) (guest ?right)))
  (not (seating (party ?party) (parent ?parent) (guest ?right)))
  =>
  (bind ?id (+ ?newest 1))
  (assert (seating (party ?party) (id ?id) (parent ?parent) (guest ?right) (seat (+ ?seat 1))))
  (assert (path (party ?party) (id ?id) (guest ?right) (seat (+ ?seat 1))))
  (modify ?phase (is copy) (at ?id) (newest ?id)))

(defrule copy-path
  (phase (party ?party) (is copy) (at ?id))
  (seating (party ?party) (id ?id) (parent ?parent))
  (path (party ?party) (id ?parent) (guest ?guest) (seat ?seat))
  =>
  (assert (path (party ?party) (id ?id) (guest ?guest) (seat ?seat))))

(defrule path-copied
  (declare (salience -1))
  ?phase <- (phase (is copy))
  =>
  (modify ?phase (is seat)))

(defrule go-back
  (declare (salience -1))
  ?phase <- (phase (party ?party) (is seat) (at ?id))
  (seats (party ?party) (number ?number))
  (seating (party ?party) (id ?id) (parent ?parent&:(> ?parent 0)) (seat ?seat&:(< ?seat ?number)))
  =>
  (modify ?phase (at ?parent)))
