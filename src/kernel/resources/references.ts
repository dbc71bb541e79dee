import { GatewayError } from '../../core/errors.js'
import type { Exchange, Route } from '../../core/plan.js'
import type { ResourceKind, ResourceReference } from '../../core/resources.js'
import { stringsAt } from '../../wire/find-members.js'
import type { WatchedKeys } from '../../wire/json-scan.js'
import type { Body } from '../body.js'
import type { Call } from '../call.js'
import { yieldToEventLoop } from '../translate/steps.js'
import { noObject, onOtherUpstream } from './faults.js'
import { idIn, type OwnedResource } from './ownership-store.js'
import { exchangeForUnknownIds } from './unknown-ids.js'
import { nameInUrl } from './urls.js'

/** Most different things that one request may name. */
const MAX_REFERENCES = 256

/**
 * Those of the exchanges that can serve a request which names things that upstreams keep: those of the upstream that has
 * them. Throws `not_found` for what is not the caller's, and `invalid_parameter` where no one upstream has it all.
 */
export async function narrowByReferences(
  call: Call,
  route: Route,
  body: Body,
  exchanges: readonly Exchange[],
): Promise<readonly Exchange[]> {
  const named = await referencesIn(call, route, body, exchanges)
  if (named.size === 0) return exchanges
  let left = exchanges
  for (const [text, kinds] of named) {
    const resource = await resourceMeant(call, kinds, text, exchanges)
    const holder = resource === 'unknown' ? exchangeForUnknownIds(left, text)?.upstream.name : resource.upstream
    left = left.filter(({ upstream }) => upstream.name === holder)
  }
  if (left.length > 0) return left
  const [name = '', kinds = []] = [...named][0] ?? []
  const { routes } = call.generation.plan
  const maker = routes.find(({ resource }) => resource?.action === 'create' && kinds.includes(resource.kind))
  throw onOtherUpstream(name, call.model, maker?.modelHints ?? [])
}

/** What the request names, each with the kinds that it may be of: the name as an object of the kind would say it. */
async function referencesIn(
  call: Call,
  { references }: Route,
  body: Body,
  exchanges: readonly Exchange[],
): Promise<ReadonlyMap<string, readonly ResourceKind[]>> {
  const hosts = new Set(exchanges.map(({ upstream }) => new URL(call.generation.reach(upstream).origin).hostname))
  const named = new References(hosts)
  if (body.type === 'form') {
    for (const { part, field } of body.form.parts) {
      // What is no text is the name of nothing.
      for (const kind of kindsAt(part.name, references)) named.add(field?.value ?? '', kind)
    }
  } else if (body.type === 'bytes') {
    await yieldToEventLoop(body.bytes.length)
    for (const { kind, path } of references) stringsAt(body.bytes, path, text => named.add(text, kind))
  }
  return named.found
}

class References {
  readonly found = new Map<string, ResourceKind[]>()
  readonly #hosts: ReadonlySet<string>

  constructor(hosts: ReadonlySet<string>) {
    this.#hosts = hosts
  }

  add(text: string, kind: ResourceKind): void {
    const name = kind.prefix === '' ? text : nameInUrl(text, kind.prefix, this.#hosts)
    if (name === undefined) return
    const kinds = this.found.get(name)
    if (kinds === undefined) this.found.set(name, [kind])
    else if (!kinds.includes(kind)) kinds.push(kind)
    if (this.found.size <= MAX_REFERENCES) return
    throw new GatewayError('invalid_parameter', `The request names more than ${MAX_REFERENCES} files.`, {
      limit: 'named',
    })
  }
}

/** Of which kinds is what a field of a form names: `images[][file_id]`, `images[0].file_id`, however servers may read it. */
function kindsAt(field: string, names: readonly ResourceReference[]): readonly ResourceKind[] {
  const written = field.split(/[^\w-]+/).filter(segment => !INDEX.test(segment))
  const meant = names.filter(({ path }) => path.filter(segment => segment !== '*').join(' ') === written.join(' '))
  return meant.map(({ kind }) => kind)
}

/** A place in a list, or nothing between two signs. */
const INDEX = /^\d*$/

/** What of the caller's own is meant; `unknown` where it belongs to no key, and an upstream takes such. */
async function resourceMeant(
  call: Call,
  kinds: readonly ResourceKind[],
  text: string,
  exchanges: readonly Exchange[],
): Promise<OwnedResource | 'unknown'> {
  const { ownership } = call.kernel.state
  const ids: (readonly [kind: ResourceKind, id: string])[] = []

  for (const kind of kinds) {
    const id = idIn(text, kind)
    if (id === undefined) continue
    const resource = await ownership.find(call.key, kind, id)
    if (resource !== undefined) return resource
    ids.push([kind, id])
  }
  if (ids.length > 0 && exchanges.some(({ upstream }) => upstream.passesUnknown)) {
    const found = await Promise.all(ids.map(([kind, id]) => ownership.isOwned(kind, id)))
    if (!found.includes(true)) return 'unknown'
  }
  throw noObject(kinds[0], text)
}

/** Whether a body could name anything at all: there is nothing without one of the members. */
export function mayReference(body: Body, names: readonly ResourceReference[]): boolean {
  if (names.length === 0) return false
  if (body.type === 'form') return body.form.parts.some(({ part }) => kindsAt(part.name, names).length > 0)
  return body.type === 'bytes' && body.named !== false
}

/** The members without which a body names nothing, as a scanner watches for them; none where the route knows no names. */
export function referenceMembers(names: readonly ResourceReference[]): WatchedKeys | undefined {
  if (names.length === 0) return undefined
  const members = new Set(names.map(({ path }) => JSON.stringify(path.findLast(segment => segment !== '*'))))
  const quoted = [...members]
  return { quoted, bare: quoted.map(member => Buffer.from(member.slice(1, -1))) }
}
