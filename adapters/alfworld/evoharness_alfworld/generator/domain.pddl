; The household domain of ALFWorld, with the names and meanings that its games and grammar use.
; "checked" is there because a planner drops actions that change nothing.

(define (domain alfred)
 (:requirements :adl :typing)
 (:types agent location receptacle object rtype otype)
 (:predicates
  (atLocation ?a - agent ?l - location)
  (receptacleAtLocation ?r - receptacle ?l - location)
  (objectAtLocation ?o - object ?l - location)
  (receptacleType ?r - receptacle ?t - rtype)
  (objectType ?o - object ?t - otype)
  (canContain ?rt - rtype ?ot - otype)
  (openable ?r - receptacle)
  (opened ?r - receptacle)
  (inReceptacle ?o - object ?r - receptacle)
  (isReceptacleObject ?o - object)
  (inReceptacleObject ?inner - object ?outer - object)
  (holds ?a - agent ?o - object)
  (holdsAny ?a - agent)
  (pickupable ?o - object)
  (cleanable ?o - object)
  (isClean ?o - object)
  (heatable ?o - object)
  (isHot ?o - object)
  (coolable ?o - object)
  (isCool ?o - object)
  (sliceable ?o - object)
  (isSliced ?o - object)
  (toggleable ?o - object)
  (isToggled ?o - object)
  (checked ?x)
 )

 (:action look
  :parameters (?a - agent ?l - location)
  :precondition (atLocation ?a ?l)
  :effect (checked ?l))

 (:action inventory
  :parameters (?a - agent)
  :precondition ()
  :effect (checked ?a))

 (:action help
  :parameters (?a - agent)
  :precondition ()
  :effect (checked ?a))

 (:action examineReceptacle
  :parameters (?a - agent ?r - receptacle)
  :precondition (exists (?l - location) (and (atLocation ?a ?l) (receptacleAtLocation ?r ?l)))
  :effect (checked ?r))

 (:action examineObject
  :parameters (?a - agent ?o - object)
  :precondition (holds ?a ?o)
  :effect (checked ?o))

 (:action GotoLocation
  :parameters (?a - agent ?lStart - location ?lEnd - location ?r - receptacle)
  :precondition (and (atLocation ?a ?lStart) (receptacleAtLocation ?r ?lEnd))
  :effect (and (not (atLocation ?a ?lStart)) (atLocation ?a ?lEnd)))

 (:action OpenObject
  :parameters (?a - agent ?l - location ?r - receptacle)
  :precondition (and (openable ?r) (not (opened ?r))
                     (atLocation ?a ?l) (receptacleAtLocation ?r ?l))
  :effect (and (opened ?r) (checked ?r)))

 (:action CloseObject
  :parameters (?a - agent ?l - location ?r - receptacle)
  :precondition (and (openable ?r) (opened ?r)
                     (atLocation ?a ?l) (receptacleAtLocation ?r ?l))
  :effect (not (opened ?r)))

 (:action PickupObject
  :parameters (?a - agent ?l - location ?o - object ?r - receptacle)
  :precondition (and (pickupable ?o) (not (holdsAny ?a)) (inReceptacle ?o ?r)
                     (or (not (openable ?r)) (opened ?r))
                     (atLocation ?a ?l) (receptacleAtLocation ?r ?l))
  :effect (and (holds ?a ?o) (holdsAny ?a)
               (not (inReceptacle ?o ?r)) (not (objectAtLocation ?o ?l))))

 (:action PutObject
  :parameters (?a - agent ?l - location ?o - object ?r - receptacle ?ot - otype ?rt - rtype)
  :precondition (and (holds ?a ?o)
                     (objectType ?o ?ot) (receptacleType ?r ?rt) (canContain ?rt ?ot)
                     (or (not (openable ?r)) (opened ?r))
                     (atLocation ?a ?l) (receptacleAtLocation ?r ?l))
  :effect (and (not (holds ?a ?o)) (not (holdsAny ?a))
               (inReceptacle ?o ?r) (objectAtLocation ?o ?l)))

 (:action CleanObject
  :parameters (?a - agent ?l - location ?r - receptacle ?o - object)
  :precondition (and (holds ?a ?o) (cleanable ?o) (receptacleType ?r SinkBasinType)
                     (atLocation ?a ?l) (receptacleAtLocation ?r ?l))
  :effect (isClean ?o))

 (:action HeatObject
  :parameters (?a - agent ?l - location ?r - receptacle ?o - object)
  :precondition (and (holds ?a ?o) (heatable ?o) (receptacleType ?r MicrowaveType)
                     (atLocation ?a ?l) (receptacleAtLocation ?r ?l))
  :effect (and (isHot ?o) (not (isCool ?o))))

 (:action CoolObject
  :parameters (?a - agent ?l - location ?r - receptacle ?o - object)
  :precondition (and (holds ?a ?o) (coolable ?o) (receptacleType ?r FridgeType)
                     (atLocation ?a ?l) (receptacleAtLocation ?r ?l))
  :effect (and (isCool ?o) (not (isHot ?o))))

 (:action ToggleObject
  :parameters (?a - agent ?l - location ?o - object ?r - receptacle)
  :precondition (and (toggleable ?o) (inReceptacle ?o ?r)
                     (atLocation ?a ?l) (receptacleAtLocation ?r ?l))
  :effect (isToggled ?o))

 (:action SliceObject
  :parameters (?a - agent ?l - location ?co - object ?ko - object)
  :precondition (and (sliceable ?co) (holds ?a ?ko)
                     (or (objectType ?ko KnifeType) (objectType ?ko ButterKnifeType))
                     (atLocation ?a ?l) (objectAtLocation ?co ?l))
  :effect (isSliced ?co))
)
