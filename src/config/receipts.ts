import { join, resolve } from 'node:path'
import { DEFAULTS } from '../core/defaults.generated.js'
import type { CaptureConfig, ReceiptsConfig } from '../core/receipts.js'
import type { StoreConfig } from '../core/store-config.js'
import { type Context, interpolate } from './context.js'
import { type Document, Site } from './document.js'
import { type Entries, sectionOf } from './entries.js'
import type { RawCapture, RawKey, RawReceiptsSettings } from './raw.generated.js'
import { quoted } from './report.js'
import { readSecret } from './secrets.js'
import { parseDays } from './units.js'

/** Fewest characters of the secret that encrypts content. */
const MIN_KEY_CHARS = 32

/** Whether receipts are written, and where. */
export function readReceipts(
  main: Document,
  store: StoreConfig,
  context: Context,
): { readonly receipts?: ReceiptsConfig } {
  const written = sectionOf(main, 'receipts')
  const site = new Site(main, ['receipts'])
  if (written === undefined || written === 'off') return {}
  const raw = interpolate<RawReceiptsSettings>(written === 'on' ? {} : written, site, context)
  const key = readKey(raw, site, context)
  return {
    receipts: {
      to: placeOf(raw.to, main, store, site, context),
      keep: readDays(raw.keep, DEFAULTS.receiptsSettings.keep, site.child('keep'), context),
      when_full: raw.when_full ?? DEFAULTS.receiptsSettings.when_full,
      ...key,
    },
  }
}

function placeOf(
  to: string | undefined,
  main: Document,
  store: StoreConfig,
  site: Site,
  context: Context,
): ReceiptsConfig['to'] {
  if (to === undefined) return { type: 'folder', path: join(store.path, 'receipts') }
  if (to !== 'store') return { type: 'folder', path: resolve(main.source.folder, to) }
  if (store.type === 'memory') {
    context.report.error(
      'bad-value',
      site.child('to'),
      'this store is in memory, so receipts would not outlive the process',
    )
  }
  return { type: 'store' }
}

function readKey(raw: RawReceiptsSettings, site: Site, context: Context): Pick<ReceiptsConfig, 'key'> {
  if (raw.key === undefined) return {}
  const at = site.child('key')
  const result = readSecret(raw.key, at, context)
  if (result === 'broken') return {}
  if ('absent' in result) {
    context.report.warn('no-secret', at, `${result.absent}, so no content is kept`)
    return {}
  }
  if (result.secret.reveal().length < MIN_KEY_CHARS && result.assumed !== true) {
    context.report.error('bad-secret', at, `the key of captured content needs at least ${MIN_KEY_CHARS} characters`)
  }
  return { key: result.secret }
}

/** What is kept of what a key sends and gets. */
export function readCapture(raw: RawCapture, site: Site, context: Context): CaptureConfig {
  const { mask, words = [], keep } = interpolate(raw, site, context)
  return {
    mask: mask ?? DEFAULTS.capture.mask,
    words,
    keep: readDays(keep, DEFAULTS.capture.keep, site.child('keep'), context),
  }
}

/** Content of keys is kept nowhere but beside receipts, and never in the clear. */
export function checkCapture(
  main: Document,
  receipts: ReceiptsConfig | undefined,
  keys: Entries<RawKey>,
  { report }: Context,
): void {
  const section = sectionOf(main, 'receipts')
  const declaresKey = typeof section === 'object' && section.key !== undefined
  for (const { name, site: key, value } of keys.values()) {
    if (value?.capture === undefined) continue
    const site = key.child('capture')
    if (receipts === undefined) {
      report.error(
        'missing-key',
        site,
        `the content of ${quoted(name)} has no place: add receipts: { key: { env: RECEIPTS_KEY } }`,
      )
    } else if (!declaresKey) {
      report.error(
        'missing-key',
        site,
        `the content of ${quoted(name)} would not be encrypted: add key: { env: RECEIPTS_KEY } to receipts`,
      )
    }
  }
}

function readDays(written: string | undefined, usual: number, site: Site, { report }: Context): number {
  if (written === undefined) return usual
  const days = parseDays(written)
  if (days === undefined && !report.unfilled.has(written)) {
    report.error('bad-value', site, 'expected a number of days, such as 90d')
  }
  return days ?? usual
}
