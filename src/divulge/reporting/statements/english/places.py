"""The sentences about places and numbers that were moved by a distance in English, by name; translated with others."""

PLACES: dict[str, str] = {
    "places_lead":
        "No published point says where somebody was. Chance moved each on purpose, and may have left some where they "
        "were: half of them lie within {small} of where they should be, and 95 of 100 within {large}.",
    "places_lead_number":
        "No published number says what the true one is. Chance moved each on purpose, and may have left some where "
        "they were: half of them lie within {small} of the true one, and 95 of 100 within {large}.",
    "places_lead_time":
        "No published date or time says what the true one is. Chance moved each on purpose, and may have left some "
        "where they were: half of them lie within {small} of the true one, and 95 of 100 within {large}.",
    "places_words":
        "On this page, what a row really holds is called true. What the published table has in its place is called "
        "published.",
    "places_promise":
        "The promise: seeing what is published, nobody’s odds between two cells of true {what} change by more than "
        "{times} times for each {distance} between their middles, whatever they knew before. Near ones are hard to "
        "tell apart, far ones easy.",
    "places_what": "places",
    "places_what_number": "numbers",
    "places_what_time": "times",
    "places_useless":
        "It promises little about {what} that are far apart: over the whole region the odds may change by 1,000 times "
        "and more.",
    "places_occur":
        "Only middles of cells of {step}, which were laid over the region from {low} to {high} beforehand. A true one "
        "outside counts as in the nearest cell.",
    "places_mean":
        "That the true one was likely near. It lies within {small} of the published one in half of all cases, and "
        "within {large} in 95 of 100, before anything else that is known of who was where.",
    "places_map": "The circles hold 50 and 95 of 100 true places of a point that was published in their middle.",
    "places_map_alt": "A region of {width} by {height}, with circles of {small} and {large} around a published point.",
    "q_places_apart": "What does a published point say about a part of town?",
    "q_places_apart_number": "What does a published number say about a range?",
    "q_places_apart_time": "What does a published date or time say about a span of time?",
    "t_apart": "Two true ones that are at most so far apart",
    "t_odds": "their odds change at most",
    "t_hundred": "what was taken for 1 in 100 becomes at most",
    "places_apart":
        "In a part that is so far across, odds between two spots of it change by no more than that; which of two parts "
        "that are far apart somebody was in can be told.",
    "t_quarter": "Quarter",
    "t_lives": "of 1,000 people, so many live there",
    "t_seen": "a point makes of that at most",
    "places_quarters":
        "For somebody who knows how many people live in each of {quarters} quarters, and nothing else, a point says at "
        "most this of whether somebody was where a quarter has its middle. The {shown} that can be told most surely:",
    "places_alone":
        "The protection is that of the empty cells around: somebody who lives alone in the circle is not found by the "
        "point, but by whoever knows that nobody else is there.",
    "knows_places":
        "The odds between any two true {what} are bounded for everybody, also for somebody who knows all of the other "
        "rows. Whoever knows that somebody was in one of two spots far apart can tell from the point which one it was.",
    "count_places":
        "How many were in a part can be estimated where the part is larger than the circles, and has many rows; single "
        "cells cannot be counted.",
    "second_places":
        "It weakens the promise: rates add up. After a second release like this one of the same rows the odds between "
        "two true ones that are {distance} apart may have changed by {twice} times in place of {times} times.",
    "whose_places":
        "It is about one row, as if each were another person. Rates add up: about a person with 2 rows the odds may "
        "change by {two} times for each {distance} between two cells, with 6 rows by {six} times.",
    "followed_places":
        "Where somebody’s rows follow each other as the public model says, all {most} published points together "
        "change nobody’s odds between two of its cells, in one of the rows, by more than {odds} times, and make none "
        "of them more than {rise} times as likely as it was.",
    "rows_places":
        "Rows of one person add up too: {most} rows share the promise, and nobody has more.",
    "trace_places":
        "Seeing all rows of a person, nobody’s odds between two lists of cells for them change by more than {once} "
        "times for each {distance} between their middles, added up row by row. A cell counts as often as it occurs: "
        "one that a person has in a single row by {once} times for each {distance} from it to another cell, one that "
        "they have in all {most} by {times} times.",
    "mean_places":
        "The mean of the published points comes nearer than each of them. Of somebody who was in one spot in all "
        "{most} rows, far from the edge of the region, it lies within {small} of that spot in half of all cases, and "
        "within {large} in 95 of 100; whoever weighs the points better than a mean does may come nearer by a fifth.",
    "mean_places_number":
        "The mean of the published numbers comes nearer than each of them. Of somebody whose true number was the same "
        "in all {most} rows, far from the ends of the region, it lies within {small} of it in half of all cases, and "
        "within {large} in 95 of 100; whoever weighs the numbers better than a mean does may come nearer by a third.",
    "mean_places_time":
        "The mean of the published times comes nearer than each of them. Of somebody whose true one was the same in "
        "all {most} rows, far from the ends of the region, it lies within {small} of it in half of all cases, and "
        "within {large} in 95 of 100; whoever weighs the times better than a mean does may come nearer by a third.",
    "risk_places":
        "Whoever has few others around, and whoever has many rows: their points gather about where they often are.",
    "worried_places":
        "Nobody can tell from a published point where exactly you were: it was moved by chance, and could have come "
        "from anywhere around. That you were roughly there can be seen.",
    "technical_places":
        "Each row was snapped to a cell of {step} and moved by {noise}, at a rate of {rate}, drawn exactly with "
        "cryptographic randomness, and clamped to the region. For cells x, x' and y the chance of y from x is at most "
        "e^(rate distance) times that from x'.",
    "places_planar": "planar geometric noise on the whole lattice",
    "places_line": "two-sided geometric noise",
    "technical_ldp": "Over the whole region that is local differential privacy of {ldp}, rounded up.",
    "spaced_promise":
        "The promise: seeing what is published, nobody’s odds between two true answers change by more than {times} "
        "times for each {distance} that they are apart, whatever they knew before. Near ones are hard to tell apart, "
        "far ones easy.",
    "spaced_all": "It is what all rows of a person keep together: each has an equal share of the rate.",
    "spaced_nearest": "For each true answer, the one that is nearest to it and the one that is farthest:",
    "t_other_answer": "Another answer",
    "t_far": "how far apart",
    "technical_spaced":
        "Each draw keeps a rate of {rate} about the distances that stand in the receipt, decided exactly.",
    "t_unbounded": "no useful bound",
    "book_places":
        "{columns}, moved by chance. Each value is the middle of a cell of {step}; half of all true ones lie within "
        "{small}, and 95 of 100 within {large}.",
    "book_trace":
        "Of each person at most {most} rows went out, each moved at a share of the rate. Points of one person belong "
        "together: the mean of {most} of them whose true one is the same lies within {small} of it in half of all "
        "cases, and within {large} in 95 of 100.",
    "book_spaced": "How far answers are apart, by which the promise goes, stands in the codebook for programs.",
    "book_places_use":
        "A published value is not the true one. Distances shorter than the circles say nothing; count in larger parts.",
}  # fmt: skip
"""Name -> English sentence."""
