/* Stopping cleanly: SIGINT (Ctrl-C) and SIGTERM ask for a stop, and a second one ends the program at once, with exit code
 * 128 + signal. */
#ifndef FERRY_TRAIN_SIGNALS_H
#define FERRY_TRAIN_SIGNALS_H

/* From now on, catch the two (not one that the parent had set to be ignored, as nohup and & do), and ignore SIGPIPE: in
 * `ferry train ... 2>&1 | tee log`, Ctrl-C ends tee, too, and our next message must not cost the last checkpoint. */
void signals_catch(void);

/* The signal that asked for a stop, or 0. */
int signals_stop_requested(void);

#endif
