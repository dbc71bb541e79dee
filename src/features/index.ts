import { log } from '../kernel/account.js'
import { answers } from '../kernel/answer.js'
import { keys } from '../kernel/authenticate.js'
import { cors } from '../kernel/cors.js'
import { inFlight } from '../kernel/in-flight.js'
import { members } from '../kernel/members.js'
import { batches } from '../kernel/resources/batch/stage.js'
import { resources } from '../kernel/resources/stage.js'
import { completions } from '../kernel/responses/completions-stage.js'
import { responses } from '../kernel/responses/stage.js'
import type { Feature } from '../kernel/stages.js'
import { links, tasks } from '../kernel/tasks/stage.js'
import { clientSecrets, tunnels } from '../kernel/tunnel/stage.js'
import { canaries } from './canaries/index.js'
import { fallbacks, heldBack } from './fallbacks/index.js'
import { health } from './health/index.js'
import { hedges } from './hedges/index.js'
import { limits } from './limits/index.js'
import { metrics } from './metrics/index.js'
import { mirrors } from './mirrors/index.js'
import { overload } from './overload/index.js'
import { regions } from './regions/index.js'
import { retries } from './retries/index.js'
import { strategies } from './strategies/index.js'

/**
 * Every feature, in the order in which its stages run in each phase. To add one, write a folder with a {@link Feature} and
 * add it here.
 */
export const FEATURES: readonly Feature[] = [
  metrics,
  cors,
  links,
  clientSecrets,
  keys,
  overload,
  inFlight,
  limits,
  mirrors,
  canaries,
  fallbacks,
  regions,
  resources,
  members,
  strategies,
  health,
  retries,
  hedges,
  tunnels,
  batches,
  responses,
  completions,
  tasks,
  heldBack,
  answers,
  log,
]
