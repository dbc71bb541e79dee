import type { CredentialConfig } from '../core/config.js'
import type { Placement } from '../core/placement.js'
import type { Secret } from '../core/secret.js'
import { type Context, interpolate } from './context.js'
import { furtherSecrets, readTypedCredential } from './credential-source.js'
import type { Site } from './document.js'
import { type Layer, last, readLayer } from './kinds.js'
import type { RawCredential, RawSecret, RawTypedCredential, RawUpstream } from './raw.generated.js'
import { readSecret } from './secrets.js'

interface ReadSecret {
  readonly secret?: Secret
  /** Those that take turns with it. */
  readonly others?: readonly Secret[]
  readonly off?: string
  readonly assumed?: boolean
}

/** The upstream's secret, or why the upstream is off. Neither where it needs none, or where the report has the reason. */
export function readCredentialSecret(raw: RawUpstream, layers: readonly Layer[], context: Context): ReadSecret {
  if (raw.disabled === true) return { off: 'disabled' }
  const upstream = layers.at(-1)
  const off = absentSecret(layers, context)
  if (off !== undefined) return { off }
  if (raw.secrets !== undefined && upstream !== undefined) return readSecrets(raw, raw.secrets, upstream.site, context)
  for (const { value, site } of layers) {
    if (value.secret !== undefined && value.credential?.secret !== undefined) {
      context.report.error('conflict', site.child('secret'), 'the secret is both here and in credential: remove one', {
        on: 'key',
      })
    }
  }
  const holder = layers.findLast(({ value }) => value.secret !== undefined || value.credential?.secret !== undefined)
  if (holder === undefined) return {}
  const { value, site } = holder
  const direct = value.secret !== undefined
  const place = direct ? site.child('secret') : site.child('credential', 'secret')
  const written = direct ? value.secret : value.credential?.secret
  const result = written === undefined ? 'broken' : readSecret(interpolate(written, place, context), place, context)
  if (result === 'broken') return {}
  return 'secret' in result ? { secret: result.secret, assumed: result.assumed === true } : { off: result.absent }
}

/** Which of the further secrets of a credential is not there; undefined: all are. */
function absentSecret(layers: readonly Layer[], context: Context): string | undefined {
  const layer = last(layers, 'credential')
  const raw = layer?.value.credential
  if (layer === undefined || raw === undefined || !('type' in raw)) return undefined
  let absent: string | undefined
  for (const [written, site, isKey] of furtherSecrets(raw, layer.site.child('credential'))) {
    const result = readSecret(interpolate(written, site, context), site, context, true, isKey ? 'text' : 'line')
    if (result !== 'broken' && 'absent' in result) absent ??= result.absent
  }
  return absent
}

/** Several secrets. Off where none of them is there. */
function readSecrets(raw: RawUpstream, written: readonly RawSecret[], upstream: Site, context: Context): ReadSecret {
  if (raw.secret !== undefined || raw.credential?.secret !== undefined) {
    context.report.error('conflict', upstream.child('secrets'), 'secret and secrets are both here: remove one', {
      on: 'key',
    })
  }
  const found = new Map<string, Secret>()
  let absent: string | undefined
  let assumed = false
  for (const [index, one] of written.entries()) {
    const place = upstream.child('secrets', index)
    const result = readSecret(interpolate(one, place, context), place, context)
    if (result === 'broken') continue
    if ('absent' in result) {
      absent ??= result.absent
      continue
    }
    const value = result.secret.reveal()
    if (found.has(value)) context.report.warn('duplicate-secret', place, 'this is the same secret as one before it')
    else found.set(value, result.secret)
    assumed ||= result.assumed === true
  }
  const [secret, ...others] = found.values()
  if (secret !== undefined) return { secret, others, assumed }
  return absent === undefined ? {} : { off: absent }
}

/** Secrets that the upstream had before; those that are no longer there are left out. */
export function readPreviousSecrets(
  { previous_secrets = [] }: RawUpstream,
  upstream: Site,
  context: Context,
): readonly Secret[] {
  return previous_secrets.flatMap((written, index) => {
    const place = upstream.child('previous_secrets', index)
    const result = readSecret(interpolate(written, place, context), place, context, false)
    return result !== 'broken' && 'secret' in result ? [result.secret] : []
  })
}

/** Where the secret is in requests. */
export function mergeCredential(
  layers: readonly Layer[],
  secret: Secret | undefined,
  context: Context,
): CredentialConfig | undefined {
  const layer = last(layers, 'credential')
  const raw = layer?.value.credential
  if (layer !== undefined && raw !== undefined && 'type' in raw) {
    const upstream = layers.at(-1)?.site ?? layer.site
    // Files of a shipped kind are beside the file of the upstream.
    const site = layer.site.document.shipped ? upstream.child('kind') : layer.site.child('credential')
    const whole = withSecret(withRegion(inherited(layers, raw), layers), layers)
    return readLayer(layer, upstream, context, scoped => readTypedCredential(whole, site, secret, scoped))
  }
  if (raw !== undefined && !('type' in raw)) return { place: placeOf(raw), ...(secret === undefined ? {} : { secret }) }
  const holder = last(layers, 'secret') ?? last(layers, 'secrets')
  if (holder !== undefined) {
    const message =
      'it is not known where to send this secret: add credential: { in: header, name: authorization, scheme: Bearer }, or a kind'
    context.report.error(
      'missing-credential',
      holder.site.child(holder.value.secret === undefined ? 'secrets' : 'secret'),
      message,
      { on: 'key' },
    )
  }
  return undefined
}

/** With the members of a kind's credential of the same type. */
function inherited(layers: readonly Layer[], own: RawTypedCredential): RawTypedCredential {
  const all = layers.flatMap(({ value: { credential } }) =>
    credential !== undefined && 'type' in credential && credential.type === own.type ? [credential] : [],
  )
  return Object.assign({}, ...all)
}

/** With the secret beside it, of which a token is made. */
function withSecret(raw: RawTypedCredential, layers: readonly Layer[]): RawTypedCredential {
  if ((raw.type !== 'jwt' && raw.type !== 'oauth2') || raw.secret !== undefined || raw.key !== undefined) return raw
  const secret = last(layers, 'secret')?.value.secret ?? last(layers, 'secrets')?.value.secrets?.[0]
  return secret === undefined ? raw : { ...raw, secret }
}

/** Hosts of services with regions name theirs: `….eu-central-1.…`. */
const REGION = /^[a-z][a-z0-9-]*:\/\/[^/]*?\b([a-z]{2,3}(?:-[a-z]+){1,3}-\d{1,2})\./

/** Where no region is written, that of the upstream's host. */
function withRegion(raw: RawTypedCredential, layers: readonly Layer[]): RawTypedCredential {
  if (raw.type !== 'aws-sigv4' || raw.region !== undefined) return raw
  const region = REGION.exec(last(layers, 'base')?.value.base ?? '')?.[1]
  return region === undefined ? raw : { ...raw, region }
}

function placeOf(raw: Exclude<RawCredential, RawTypedCredential>): Placement {
  if (raw.in === 'query') return { in: 'query', name: raw.name }
  return { in: 'header', name: raw.name.toLowerCase(), ...(raw.scheme === undefined ? {} : { scheme: raw.scheme }) }
}
