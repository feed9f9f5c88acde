/* Fault: takes each piece for a whole message. Seen in https://github.com/warmcat/libwebsockets/issues/2601.
 *
 * LWS_CALLBACK_RECEIVE comes whenever there is something: a fragment, a part of one. In every test with short texts in one
 * frame that is the whole message.
 */
#define IS_WHOLE_MESSAGE(wsi) 1
#include "../../good/lws/speech.c"
