import { parseDuration } from '../../config/units.js'
import type { Json } from '../../core/json.js'
import { CALLERS } from '../../features/keys/callers.js'
import type { KeyTerms } from '../../features/keys/record.js'
import { MAX_SECRETS } from '../../features/keys/stored-keys.js'
import { changedView, fileView, KEY, mustFit, NEW_KEY, storedView, TERMS, unknownKey } from '../key-view.js'
import { AdminError, type AdminRequest, type AdminRoute, FLAG, objectOf, TEXT } from '../route.js'

const PATH = '/admin/keys/{name}'

export const showKey: AdminRoute = {
  method: 'GET',
  path: PATH,
  summary: 'One key. Of a name that is in the file and in the store, that of the file.',
  status: 200,
  answer: KEY,
  async handle(request, host) {
    const name = nameOf(request)
    const own = Object.hasOwn(host.config.keys, name) ? host.config.keys[name] : undefined
    if (own !== undefined) return fileView(name, own, host)
    const key = await host.kernel.need(CALLERS).stored.find(name)
    if (key === undefined) throw unknownKey(name, host)
    return storedView(key, host)
  },
}

export const changeKey: AdminRoute = {
  method: 'PATCH',
  path: PATH,
  summary: 'Sets terms of a key of the store. Terms and limits that are not named stay; null removes one.',
  body: objectOf(TERMS),
  status: 200,
  answer: KEY,
  async handle(request, host) {
    const name = nameOf(request)
    const { stored } = host.kernel.need(CALLERS)
    const before = await stored.find(name)
    if (before === undefined) throw unknownKey(name, host)
    const next = (terms: KeyTerms): KeyTerms => patched(terms, request.body)
    mustFit(name, next(before.terms), host)
    const key = await stored.change(name, next)
    if (key === undefined) throw unknownKey(name, host)
    await host.kernel.need(CALLERS).refresh()
    return changedView(key, host)
  },
}

export const revokeKey: AdminRoute = {
  method: 'DELETE',
  path: PATH,
  summary: 'Removes a key from the store: within a second no process takes it.',
  status: 200,
  answer: objectOf({ name: TEXT, revoked: FLAG }),
  async handle(request, host) {
    const name = nameOf(request)
    if (!(await host.kernel.need(CALLERS).stored.revoke(name))) throw unknownKey(name, host)
    await host.kernel.need(CALLERS).refresh()
    return { name, revoked: true }
  },
}

export const rotateKey: AdminRoute = {
  method: 'POST',
  path: `${PATH}/rotate`,
  summary: 'Gives a key of the store a new secret, which is in this answer alone.',
  body: objectOf({
    keep: { type: 'string', description: 'How long the former secret still works, such as 1h; absent: not at all.' },
  }),
  status: 200,
  answer: NEW_KEY,
  async handle(request, host) {
    const name = nameOf(request)
    const { keep } = request.body
    const kept = keep === undefined ? 0 : typeof keep === 'string' ? parseDuration(keep) : undefined
    if (kept === undefined) throw new AdminError(400, 'invalid_request', 'keep: expected a duration such as 10m or 1h')
    const made = await host.kernel.need(CALLERS).stored.rotate(name, kept)
    if (made === undefined) throw unknownKey(name, host)
    if (made === 'full') throw new AdminError(409, 'conflict', FULL)
    await host.kernel.need(CALLERS).refresh()
    return { ...storedView(made.key, host), secret: made.secret.reveal() }
  },
}

const FULL = `${MAX_SECRETS} secrets of the key are still valid: wait until one ends, or rotate without keep, which ends them all`

function nameOf({ params }: AdminRequest): string {
  return params.name ?? ''
}

/** A merge by RFC 7396, one level into `limits`. */
function patched(terms: KeyTerms, patch: KeyTerms): KeyTerms {
  const next: Record<string, Json> = { ...terms }
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete next[name]
    else if (name === 'limits' && typeof value === 'object' && !Array.isArray(value))
      next[name] = patched((terms[name] ?? {}) as KeyTerms, value as KeyTerms) as Json
    else next[name] = value
  }
  return next
}
