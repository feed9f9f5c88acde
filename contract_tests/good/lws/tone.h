/* Stand-in for a voice. */
#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Make `samples` (to be freed) signed 16-bit mono PCM and return its bytes: a sine as long as the text, none where that
 * holds nothing to speak; the voice sets the pitch. */
static size_t tone(int16_t **samples, const char *text, const char *voice, double speed, double rate)
{
    size_t characters = 0, sum = 0;
    bool speakable = false;
    for (const char *at = text; *at; at++) {
        characters += (*at & 0xc0) != 0x80; /* bytes of UTF-8 that begin a character */
        speakable |= isalnum((unsigned char)*at) || (*at & 0x80);
    }
    for (; *voice; voice++) sum += (unsigned char)*voice;
    double seconds = fmax(0.25, 0.02 * (double)characters) / speed;
    size_t count = speakable ? (size_t)lround(seconds * rate) : 0;
    double turn = 2 * M_PI * 180 * pow(2, (double)(sum % 12) / 12) / rate;
    *samples = malloc((count + 1) * sizeof **samples);
    for (size_t at = 0; at < count; at++) {
        double edge = fmin((double)at, (double)(count - 1 - at)) / (0.01 * rate);
        double ramp = sin(M_PI / 2 * fmin(1, edge));
        (*samples)[at] = (int16_t)lround(16383 * ramp * ramp * sin(turn * (double)at));
    }
    return count * sizeof **samples;
}
