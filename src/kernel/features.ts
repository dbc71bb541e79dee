import { log } from './account.js'
import { answers } from './answer.js'
import { keys } from './authenticate.js'
import { cors } from './cors.js'
import { inFlight } from './in-flight.js'
import { members } from './members.js'
import { batches } from './resources/batch/stage.js'
import { resources } from './resources/stage.js'
import { completions } from './responses/completions-stage.js'
import { responses } from './responses/stage.js'
import type { Feature } from './stages.js'
import { links, tasks } from './tasks/stage.js'
import { clientSecrets, tunnels } from './tunnel/stage.js'

/**
 * Every feature, in the order in which its stages run in each phase. To add one, write a folder with a {@link Feature} and
 * add it here.
 */
export const FEATURES: readonly Feature[] = [
  cors,
  links,
  clientSecrets,
  keys,
  inFlight,
  resources,
  members,
  tunnels,
  batches,
  responses,
  completions,
  tasks,
  answers,
  log,
]
