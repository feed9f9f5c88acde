"""What the benchmarks let a container speak. Texts of our own."""

__all__ = ["CLIPS", "SENTENCES"]

SENTENCES = (
    "Good morning, the train to the coast leaves from platform seven at a quarter past nine.",
    "It has a dining car, and all of its seats can still be booked.",
    "In the afternoon there may be showers, so take a light coat with you.",
    "Shall I reserve a place at the window for you?",
)
"""Four, 267 characters with the blanks between them: as long as the text of the published measurement."""

CLIPS = (
    "Your table is ready.",
    "Please hold the line for a moment.",
    "The meeting starts at ten in the morning.",
    "I have sent the receipt to your phone.",
    "Turn left after the old stone bridge.",
    "The library closes early on Sunday.",
    "There is fresh bread in the kitchen.",
    "Her brother plays the violin in a small orchestra.",
    "We should water the garden before the sun comes up.",
    "The doctor will call you back in the afternoon.",
    "A warm wind blew across the empty beach.",
    "Nobody had seen the black cat since Tuesday.",
    "The children built a tower out of wooden blocks.",
    "You can pay by card or with cash at the counter.",
    "My neighbor grows apples and pears behind his house.",
    "The last bus to the airport leaves at midnight.",
    "Snow covered the roofs of the whole village.",
    "She wrote a long letter to her oldest friend.",
    "The museum shows paintings from three different countries.",
    "Please remember to lock the front door when you leave.",
    "His new bicycle has a bright red bell and a strong lamp.",
    "The river was so clear that we could count the fish.",
    "After dinner they walked slowly along the quiet harbor.",
    "The teacher asked the class to open the blue book.",
)
"""24 short ones, in words that every recogniser knows."""
