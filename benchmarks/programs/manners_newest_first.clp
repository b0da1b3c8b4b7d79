; Seat the guests of each party in a row so that neighbours are of different sex and share a hobby. A seating knows its
; parent, and has the whole row of guests up to it as paths of its own. A guest may be seated after any seating at any time, as
; in the program that engines have long been measured with: where to go on is left to the engine, which takes the newest.
(deftemplate guest (slot party) (slot name) (slot sex) (slot hobby))
(deftemplate seats (slot party) (slot number))
(deftemplate seating (slot party) (slot id) (slot parent) (slot guest) (slot seat) (slot copied))
(deftemplate path (slot party) (slot id) (slot guest) (slot seat))
(deftemplate phase (slot party) (slot is) (slot newest))

(defrule first-seat
  (seats (party ?party))
  (not (phase (party ?party)))
  (guest (party ?party) (name ?guest))
  =>
  (assert (seating (party ?party) (id 1) (parent 0) (guest ?guest) (seat 1) (copied yes)))
  (assert (path (party ?party) (id 1) (guest ?guest) (seat 1)))
  (assert (phase (party ?party) (is seat) (newest 1))))

(defrule find-seat
  ?phase <- (phase (party ?party) (is seat) (newest ?newest))
  (seating (party ?party) (id ?parent) (guest ?left) (seat ?seat) (copied yes))
  (guest (party ?party) (name ?left) (sex ?sex) (hobby ?hobby))
  (guest (party ?party) (name ?right) (sex ~?sex) (hobby ?hobby))
  (not (path (party ?party) (id ?parent) (guest ?right)))
  (not (seating (party ?party) (parent ?parent) (guest ?right)))
  =>
  (bind ?id (+ ?newest 1))
  (assert (seating (party ?party) (id ?id) (parent ?parent) (guest ?right) (seat (+ ?seat 1)) (copied no)))
  (assert (path (party ?party) (id ?id) (guest ?right) (seat (+ ?seat 1))))
  (modify ?phase (is copy) (newest ?id)))

(defrule copy-path
  (phase (party ?party) (is copy))
  (seating (party ?party) (id ?id) (parent ?parent) (copied no))
  (path (party ?party) (id ?parent) (guest ?guest) (seat ?seat))
  (not (path (party ?party) (id ?id) (guest ?guest)))
  =>
  (assert (path (party ?party) (id ?id) (guest ?guest) (seat ?seat))))

(defrule path-copied
  (declare (salience -1))
  ?phase <- (phase (party ?party) (is copy))
  ?seating <- (seating (party ?party) (copied no))
  =>
  (modify ?seating (copied yes))
  (modify ?phase (is check)))

(defrule all-seated
  ?phase <- (phase (party ?party) (is check))
  (seats (party ?party) (number ?number))
  (seating (party ?party) (seat ?number))
  =>
  (modify ?phase (is done)))

(defrule go-on
  (declare (salience -1))
  ?phase <- (phase (is check))
  =>
  (modify ?phase (is seat)))
