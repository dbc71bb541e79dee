import { GatewayError } from '../../core/errors.js'
import { isObject, parseJson } from '../../core/json.js'
import { copyWith } from '../../core/keeper.js'
import type { Exchange, Route } from '../../core/plan.js'
import type { ResumableUpload } from '../../core/resources.js'
import { isPlace } from '../../core/store.js'
import type { Call as UpstreamCall } from '../../core/upstream-call.js'
import type { Call } from '../../kernel/call.js'
import { originOf } from '../../kernel/origin.js'
import { newId } from '../../kernel/own-ids.js'
import { stored } from '../../kernel/stored.js'
import { holderAmong } from './holder.js'

const NAMESPACE = 'upload-sessions'
/** How long an upload may take from its first request to its last, milliseconds. */
const RETENTION_MS = 48 * 3_600_000

/**
 * The exchange for an upload that an earlier request began: at the address that its upstream gave. Undefined if the
 * request begins an upload. Throws `not_found` for an upload of another caller.
 */
export async function resumedUpload(call: Call, route: Route): Promise<readonly Exchange[] | undefined> {
  const id = route.resumableUpload === undefined ? undefined : call.query?.get(route.resumableUpload.parameter)
  if (id === undefined || id === null) return undefined
  const place = { namespace: NAMESPACE, owner: call.key, key: id }
  const record = isPlace(place) ? await stored(call.kernel.store.get(place.namespace, place.owner, id)) : undefined
  const known = record && parseJson(Buffer.from(record.value).toString('utf8'))
  if (!isObject(known)) throw new GatewayError('not_found', 'No such upload.')
  const exchanges = route.resolve('')?.groups.flatMap(group => group.exchanges) ?? []
  const exchange = holderAmong(exchanges, String(known.upstream))
  if (exchange === undefined) throw new GatewayError('unavailable', 'The upstream of this upload is switched off.')
  return [exchangeAt(exchange, route.method, String(known.target))]
}

/** The exchange with the address that the upstream gave instead of its own. */
function exchangeAt(exchange: Exchange, method: string, target: string): Exchange {
  const call: UpstreamCall = { method, text: `${method} (the upload's own address)`, target: () => target, whole: true }
  return copyWith(exchange, { call, streamCall: call })
}

/**
 * Records an upload and returns the gateway's address where it continues, instead of the upstream's `address`. Throws
 * `bad_upstream_response` if that is not on the upstream's own origin: credential and bytes are sent nowhere else.
 */
export async function openSession(
  call: Call,
  { parameter }: ResumableUpload,
  { upstream }: Exchange,
  address: string,
): Promise<string> {
  const { origin } = call.generation.reach(upstream)
  const url = URL.canParse(address, origin) ? new URL(address, origin) : undefined
  if (url === undefined || url.origin !== origin || url.username !== '' || url.password !== '') {
    const message = 'The upstream sent a malformed answer. It names an upload URL at another host.'
    throw new GatewayError('bad_upstream_response', message, { phase: 'head', cause: `host ${url?.host ?? 'none'}` })
  }
  const id = newId('')
  const created = Date.now()
  const value = Buffer.from(JSON.stringify({ upstream: upstream.keeper, target: url.pathname + url.search }))
  const owner = call.key
  await stored(
    call.kernel.store.create({ namespace: NAMESPACE, owner, key: id, created, expires: created + RETENTION_MS, value }),
  )
  return `${gatewayOrigin(call)}${call.path}?${new URLSearchParams({ [parameter]: id })}`
}

/** The gateway's address as the client reached it. */
function gatewayOrigin(call: Call): string {
  const origin = originOf(call)
  if (origin === undefined) throw new GatewayError('bad_request', 'The Host header is not valid.', { param: 'host' })
  return origin
}
