import type { Feature } from '../kernel/stages.js'
import { answers } from './answers/index.js'
import { batches } from './batches/index.js'
import { canaries } from './canaries/index.js'
import { checks } from './checks/index.js'
import { clientSecrets } from './client-secrets/index.js'
import { completions } from './completions/index.js'
import { webConsole } from './console/index.js'
import { cors } from './cors/index.js'
import { credentials } from './credentials/index.js'
import { expose } from './expose/index.js'
import { fallbacks, heldBack } from './fallbacks/index.js'
import { generations } from './generations/index.js'
import { health } from './health/index.js'
import { hedges } from './hedges/index.js'
import { identity, requiredCertificates } from './identity/index.js'
import { inFlight } from './in-flight/index.js'
import { keys } from './keys/index.js'
import { limits } from './limits/index.js'
import { links } from './links/index.js'
import { log } from './log/index.js'
import { logExport } from './log-export/index.js'
import { members } from './members/index.js'
import { metrics } from './metrics/index.js'
import { mirrors } from './mirrors/index.js'
import { modules } from './modules/index.js'
import { overload } from './overload/index.js'
import { passport } from './passport/index.js'
import { receipts } from './receipts/index.js'
import { record } from './record/index.js'
import { regions } from './regions/index.js'
import { resources } from './resources/index.js'
import { responseSchemas } from './response-schemas/index.js'
import { responses } from './responses/index.js'
import { retries } from './retries/index.js'
import { strategies } from './strategies/index.js'
import { tail } from './tail/index.js'
import { tasks } from './tasks/index.js'
import { traces } from './traces/index.js'
import { tunnels } from './tunnels/index.js'

/**
 * Every feature, in the order in which its stages run in each phase. To add one, write a folder with a {@link Feature} and
 * add it here.
 */
export const FEATURES: readonly Feature[] = [
  metrics,
  traces,
  receipts,
  modules,
  credentials,
  cors,
  webConsole,
  requiredCertificates,
  links,
  clientSecrets,
  identity,
  keys,
  generations,
  overload,
  inFlight,
  limits,
  checks,
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
  passport,
  record,
  responseSchemas,
  expose,
  tail,
  log,
  logExport,
]
