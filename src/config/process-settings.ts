import type { Config } from '../core/config.js'
import { DEFAULTS } from '../core/defaults.generated.js'
import { FEATURE_WORDS, type FeatureSettings } from '../core/feature-settings.generated.js'
import type { TasksConfig, WebhookConfig } from '../core/process-config.js'
import type { RecordOverride } from '../core/recording.js'
import { withFirstEvent } from '../core/timeouts.js'
import type { WorkerCount } from '../core/worker-count.js'
import { readAdmin } from './admin.js'
import { type Context, interpolate } from './context.js'
import { type Document, Site } from './document.js'
import { sectionOf } from './entries.js'
import { readHealth } from './health.js'
import { type ListenOverrides, readListen } from './listen.js'
import { type LogOverrides, readLog } from './log.js'
import { checkAllowed, readMedia } from './media.js'
import { readOverload } from './overload.js'
import type { RawGateway } from './raw.generated.js'
import { readReceipts } from './receipts.js'
import { readRecord } from './recordings.js'
import { readReload } from './reload.js'
import { readSecret } from './secrets.js'
import { readDuration, readLimits, readRetry, readTimeouts } from './settings.js'
import { readSpool } from './spool.js'
import { readStore } from './store.js'
import { readTelemetry } from './telemetry.js'
import { readWorkers } from './workers.js'

/** Settings of the command line; they win over the file. */
export interface Overrides extends ListenOverrides, LogOverrides {
  /** Of the admin listener; 0: none. */
  readonly adminPort?: number
  readonly workers?: WorkerCount
  /** Whether keys of the store have limits: then requests are counted, also if the file has none. */
  readonly counted?: boolean
  /** Prices are what is asked for: then the shipped ones are there, also if nothing is counted. */
  readonly priced?: boolean
  /** Every answer is compared with its schema. */
  readonly checkResponses?: boolean
  readonly record?: RecordOverride
}

/** What holds for the whole process. */
type Settings = Pick<
  Config,
  | 'listen'
  | 'limits'
  | 'timeouts'
  | 'retry'
  | 'health'
  | 'store'
  | 'spool'
  | 'log'
  | 'features'
  | 'transport'
  | 'overload'
  | 'reload'
  | 'workers'
  | 'media'
  | 'tasks'
  | 'webhooks'
  | 'admin'
  | 'receipts'
  | 'record'
  | 'telemetry'
>

/** The sections of the main file that are one thing each, with what holds where they say nothing. */
export function readSettings(main: Document, overrides: Overrides, context: Context): Settings {
  const at = (section: string): Site => new Site(main, [section])
  const store = readStore(sectionOf(main, 'store') ?? {}, at('store'), context)
  return {
    listen: readListen(sectionOf(main, 'listen') ?? {}, at('listen'), overrides, context),
    limits: { ...DEFAULTS.limits, ...readLimits(sectionOf(main, 'limits'), at('limits'), context) },
    timeouts: {
      ...DEFAULTS.timeouts,
      ...withFirstEvent(readTimeouts(sectionOf(main, 'timeouts'), at('timeouts'), context)),
    },
    health: {
      ...DEFAULTS.healthRule,
      ...readHealth(sectionOf(main, 'health'), at('health'), context),
    },
    retry: { ...DEFAULTS.retry, ...readRetry(sectionOf(main, 'retry'), at('retry'), context) },
    store,
    spool: readSpool(main, at('spool'), store, context),
    log: readLog(main, at('log'), overrides, context),
    features: readFeatures(main, context),
    transport: sectionOf(main, 'transport') ?? DEFAULTS.transport,
    ...readOverload(sectionOf(main, 'overload'), at('overload'), context),
    ...readReload(sectionOf(main, 'reload'), at('reload'), context),
    workers: readWorkers(main, overrides.workers, store, context),
    media: readMedia(sectionOf(main, 'media'), at('media'), context),
    tasks: readTasks(sectionOf(main, 'tasks'), at('tasks'), context),
    ...readWebhooks(sectionOf(main, 'webhooks'), at('webhooks'), context),
    ...readReceipts(main, store, context),
    ...readRecord(main, overrides.record, context),
    ...readTelemetry(sectionOf(main, 'telemetry'), at('telemetry'), context),
    ...readAdmin(sectionOf(main, 'admin'), at('admin'), overrides.adminPort, context),
  }
}

/** Words that features read themselves: one member for each that the file has. */
function readFeatures(main: Document, context: Context): FeatureSettings {
  return Object.fromEntries(
    FEATURE_WORDS.flatMap(word => {
      const written = sectionOf(main, word)
      return written === undefined ? [] : [[word, interpolate(written, new Site(main, [word]), context)]]
    }),
  )
}

function readTasks(raw: RawGateway['tasks'], site: Site, context: Context): TasksConfig {
  const read = (name: keyof TasksConfig): number => {
    const written = raw?.[name]
    return written === undefined ? DEFAULTS.tasks[name] : readDuration(written, site.child(name), context)
  }
  return { lease: read('lease'), wait: read('wait') }
}

/** Fewest characters of a secret that is not a `whsec_…`. */
const MIN_SECRET_CHARS = 24

/** Hosts that clients may name for notifications of their tasks. Absent: none. */
function readWebhooks(
  written: RawGateway['webhooks'],
  site: Site,
  context: Context,
): { readonly webhooks?: WebhookConfig } {
  if (written === undefined) return {}
  const { secret: place, timeout, ...rest } = interpolate(written, site, context)
  const at = site.child('secret')
  const result = readSecret(place, at, context)
  if (rest.allow !== undefined) checkAllowed(rest.allow, site.child('allow'), context)
  const secret = result !== 'broken' && 'secret' in result ? result.secret : undefined
  if (secret !== undefined && secret.reveal().length < MIN_SECRET_CHARS) {
    context.report.error('bad-secret', at, `a signing secret needs at least ${MIN_SECRET_CHARS} characters`)
  }
  if (result !== 'broken' && 'absent' in result) {
    context.report.warn('no-secret', at, `${result.absent}, so no notifications of tasks are sent`)
  }
  return {
    webhooks: {
      ...DEFAULTS.webhooks,
      ...rest,
      ...(secret === undefined ? {} : { secret }),
      ...(timeout === undefined ? {} : { timeout: readDuration(timeout, site.child('timeout'), context) }),
    },
  }
}
