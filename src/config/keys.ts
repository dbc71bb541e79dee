import type { KeyConfig } from '../core/config.js'
import { DEFAULTS } from '../core/defaults.generated.js'
import type { KeySecret } from '../core/process-config.js'
import { type Context, interpolate } from './context.js'
import type { Site } from './document.js'
import type { Entries, Entry } from './entries.js'
import { readCallerRules, readModelNames } from './groups.js'
import { KnownModels } from './known-models.js'
import type { RawGroup, RawKey, RawKeySecret } from './raw.generated.js'
import { readCapture } from './receipts.js'
import { quoted } from './report.js'
import { digestOf, readSecret } from './secrets.js'
import { readTraceContent } from './trace-content.js'
import { parseMoment } from './units.js'

/** Plain keys shorter than this can be guessed. */
const MIN_KEY_CHARS = 16

/** Callers' keys with their secrets read. */
export function readKeys(
  entries: Entries<RawKey>,
  groups: Entries<RawGroup>,
  models: readonly string[],
  context: Context,
): Record<string, KeyConfig> {
  const keys: Record<string, KeyConfig> = Object.create(null)
  const owners = new Map<string, string>()
  const known = new KnownModels(models)
  for (const entry of entries.values()) {
    if (entry.value === undefined) continue
    const models = readModelNames(entry.value.models, entry.site.child('models'), known, context)
    keys[entry.name] = {
      ...readKey(entry, entry.value, owners, context),
      ...readCallerRules(entry.value, entry.site, groups, context),
      models: models ?? DEFAULTS.key.models,
    }
  }
  return keys
}

function readKey(
  entry: Entry<RawKey>,
  raw: RawKey,
  owners: Map<string, string>,
  context: Context,
): Omit<KeyConfig, 'models'> {
  const { site, name } = entry
  const disabled = raw.disabled ?? false
  const expires = readExpiry(raw, site, context)
  const found = disabled ? [] : readSecrets(raw, site, context)
  const secrets = found.flatMap(result => ('absent' in result ? [] : [result.secret]))
  const absent = found.flatMap(result => ('absent' in result ? [result.absent] : []))
  for (const secret of secrets) refuseShared(secret, name, site.child('secret'), owners, context)
  return {
    secrets,
    disabled,
    strict: raw.strict ?? false,
    ...(raw.expose === undefined ? {} : { expose: raw.expose }),
    ...(raw.generations === undefined ? {} : { generations: raw.generations }),
    ...(expires === undefined ? {} : { expires }),
    ...(raw.capture === undefined ? {} : { capture: readCapture(raw.capture, site.child('capture'), context) }),
    ...readTraceContent(raw.trace, site.child('trace'), context),
    ...(secrets.length === 0 && absent.length > 0 ? { absent: absent.join(', ') } : {}),
  }
}

type Found = { readonly secret: KeySecret } | { readonly absent: string }

function readSecrets(raw: RawKey, site: Site, context: Context): readonly Found[] {
  const secret = site.child('secret')
  if (!isList(raw.secret)) return readKeySecret(raw.secret, secret, context)
  return raw.secret.flatMap((item, index) => readKeySecret(item, secret.child(index), context))
}

function isList(secret: RawKey['secret']): secret is readonly RawKeySecret[] {
  return Array.isArray(secret)
}

/** One place of a key; none where there is a problem, which the report has. */
export function readKeySecret(written: RawKeySecret, site: Site, context: Context): readonly Found[] {
  const raw = interpolate(written, site, context)
  if (raw.hash !== undefined)
    return [{ secret: { type: 'digest', sha256: raw.hash.slice('sha256:'.length).toLowerCase() } }]
  if (raw.env === undefined && raw.file === undefined) {
    context.report.error('missing-key', site, '"env" is missing here: the variable that holds the key', {
      on: 'key',
    })
    return []
  }
  const result = readSecret(raw, site, context, raw.generate !== true)
  if (result === 'broken') return []
  if ('absent' in result) {
    if (result.empty) {
      context.report.error('empty-secret', site, `${result.absent}: an empty key would admit everyone`)
      return []
    }
    return [raw.generate === true ? { secret: { type: 'generated' } } : { absent: result.absent }]
  }
  if (result.secret.reveal().length < MIN_KEY_CHARS) {
    context.report.warn('weak-secret', site, `this key has fewer than ${MIN_KEY_CHARS} characters and can be guessed`)
  }
  const { secret, file } = result
  return [{ secret: { type: 'plain', secret, ...(file === undefined ? {} : { file }) } }]
}

/** Two keys with one secret: the caller would be ambiguous. */
function refuseShared(
  secret: KeySecret,
  name: string,
  site: Site,
  owners: Map<string, string>,
  { report }: Context,
): void {
  if (secret.type === 'generated') return
  const digest = secret.type === 'digest' ? secret.sha256 : digestOf(secret.secret)
  const owner = owners.get(digest)
  if (owner === undefined) owners.set(digest, name)
  else if (owner === name) report.warn('shared-secret', site, 'two of these secrets are equal')
  else
    report.error(
      'shared-secret',
      site,
      `the key ${quoted(owner)} has the same secret, so the two callers cannot be told apart`,
    )
}

function readExpiry(raw: RawKey, site: Site, context: Context): number | undefined {
  if (raw.expires === undefined) return undefined
  const place = site.child('expires')
  const expires = parseMoment(interpolate(raw.expires, place, context))
  if (expires === undefined) {
    context.report.error(
      'bad-value',
      place,
      'expected a date such as 2026-12-31, or a time with its zone such as 2026-12-31T12:00:00Z',
    )
  } else if (expires <= context.now) {
    context.report.warn('expired-key', place, 'this key has expired and is refused')
  }
  return expires
}
