/** Setup of tests whose engines may be slow. A worker that keeps its modules runs its setup before each file. */
import { waitPatiently } from "./patience.ts";

waitPatiently();
