"""Containers written from the descriptions below, and from nothing else: the checks had to say what is wrong with them.

All of them speak the protocol of AWS's Kokoro sample on the paths that SageMaker asks for, and none shares code with
the containers of the suite.

harbour (good)
    Announcements of a ferry harbour, on aiohttp with a class for each URL. A session has an inbox and two tasks: one
    does nothing but read, the other one takes what is in the inbox and speaks it. The voice is computed in a thread
    and sent in slices of a tenth of a second. Whoever says goodbye gets a proper goodbye.

typewriter (good)
    No web framework at all: a program of asyncio streams that answers HTTP by hand and leaves the WebSocket to a
    protocol object without I/O. It reads all the time, answers Pings at once, puts sentences into a queue and types
    them out one after the other.

hotline (broken)
    A telephone menu that somebody wrote with the class-based endpoints of a web framework. All its messages are text,
    so it declares that it takes text, and everything else is none of its business.

station (broken)
    A radio station. Listeners connect, and what is to be said goes through one playout list that the whole station
    has: the next free connection takes the next piece off the list.

telegraph (broken)
    A small program without a framework. Speech is cheap to compute, so it is computed where it is needed, in line; the
    operator looks at the wire again when the telegram is done.

clerk (broken)
    A night clerk who is told not to sit around: he answers everything that he is asked, and when nobody has asked for
    not quite two seconds he wishes a good night and hangs up.

gramophone (broken)
    One thread for each listener. The samples are packed as network programs pack numbers, in network byte order.

landlord (broken)
    An old program that has been taught the message "close": it stops answering then, and waits for the guest to leave
    by himself.
"""
