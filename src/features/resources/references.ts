import { GatewayError } from '../../core/errors.js'
import type { JsonObject } from '../../core/json.js'
import { exchangeOfKeeper } from '../../core/keeper.js'
import type { Exchange, Route } from '../../core/plan.js'
import type { ResourceKind, ResourceReference } from '../../core/resources.js'
import type { Body } from '../../kernel/body.js'
import type { Call } from '../../kernel/call.js'
import { yieldToEventLoop } from '../../kernel/translate/steps.js'
import { stringsAt, stringsIn } from '../../wire/find-members.js'
import { BATCH_LINES } from '../batches/uploaded-lines.js'
import { noObject, onOtherUpstream } from './faults.js'
import { idIn, OWNERSHIP, type OwnedResource } from './ownership-store.js'
import { exchangeForUnknownIds } from './unknown-ids.js'
import { nameInUrl } from './urls.js'

/** Most records of resources that are read at the same time. */
const MAX_CONCURRENT_READS = 32

/** Most ids that belong to no key: whether one belongs to another takes a search over the owners. */
const MAX_UNKNOWN = 1000

/** What names resources: the request itself, or what the gateway adds to it. */
interface Naming {
  /** How errors call it: `request`. */
  readonly who: string
  /** Most different resources that it may name. */
  readonly most: number
  /** The member of the request that errors name. */
  readonly param?: string
}

const REQUEST: Naming = { who: 'request', most: 256 }

/**
 * The exchanges that can serve a request which names resources: those of the upstream that has them. Throws `not_found` for
 * resources of other callers, and `invalid_parameter` if no single upstream has them all.
 */
export async function narrowByReferences(
  call: Call,
  route: Route,
  body: Body,
  exchanges: readonly Exchange[],
): Promise<readonly Exchange[]> {
  return holdersOf(call, await referencesIn(call, route, body, exchanges), exchanges, REQUEST)
}

/** The same for what the gateway sends beside the client's own body; `added` has the members of a body. */
export async function narrowByAdded(
  call: Call,
  { references }: Route,
  added: JsonObject,
  exchanges: readonly Exchange[],
  naming: Naming,
): Promise<readonly Exchange[]> {
  const named = referencesAt(call, exchanges, naming)
  for (const { kind, path } of references) stringsIn(added, path, text => named.add(text, kind))
  return holdersOf(call, named.found, exchanges, naming)
}

async function holdersOf(
  call: Call,
  named: References['found'],
  exchanges: readonly Exchange[],
  { param }: Naming,
): Promise<readonly Exchange[]> {
  if (named.size === 0) return exchanges
  let left = exchanges
  let lines = 0
  let unknown = 0
  const names = [...named]
  for (let from = 0; from < names.length; from += MAX_CONCURRENT_READS) {
    call.cancellation.throwIfCancelled()
    const found = names.slice(from, from + MAX_CONCURRENT_READS).map(async ([text, kinds]) => {
      return { text, resource: await resourceMeant(call, kinds, text, exchanges, param) }
    })
    for (const { text, resource } of await Promise.all(found)) {
      if (resource === 'unknown' && ++unknown > MAX_UNKNOWN) throw noObject(named.get(text)?.[0], text, param)
      // Which of several an upstream reads is not known, and of one that was not counted, how many requests it holds.
      lines += (resource === 'unknown' ? undefined : resource.lines) ?? Number.NaN
      const holder =
        resource === 'unknown' ? exchangeForUnknownIds(left, text, param)?.upstream.name : resource.upstream
      left = holder === undefined ? [] : left.flatMap(one => exchangeOfKeeper(one, holder) ?? [])
    }
  }
  if (lines > 0) call.set(BATCH_LINES, lines)
  if (left.length > 0) return left
  const [name = '', kinds = []] = names[0] ?? []
  const { routes } = call.generation.plan
  const maker = routes.find(({ resource }) => resource?.action === 'create' && kinds.includes(resource.kind))
  throw onOtherUpstream(name, call.model, maker?.modelHints ?? [], param)
}

/** The names of resources in the request, as objects of their kinds write them, each with its possible kinds. */
async function referencesIn(
  call: Call,
  { references }: Route,
  body: Body,
  exchanges: readonly Exchange[],
): Promise<References['found']> {
  const named = referencesAt(call, exchanges, REQUEST)
  if (body.type === 'form') {
    for (const { part, field } of body.form.parts) {
      // A part that is not a text field names no resource.
      for (const kind of kindsAt(part.name, references)) named.add(field?.value ?? '', kind)
    }
  } else if (body.type === 'bytes') {
    await yieldToEventLoop(body.bytes.length)
    for (const { kind, path } of references) stringsAt(body.bytes, path, text => named.add(text, kind))
  }
  return named.found
}

function referencesAt({ generation }: Call, exchanges: readonly Exchange[], naming: Naming): References {
  const hosts = exchanges.map(({ upstream }) => new URL(generation.reach(upstream).origin).hostname)
  return new References(new Set(hosts), naming)
}

class References {
  readonly found = new Map<string, ResourceKind[]>()
  readonly #hosts: ReadonlySet<string>
  readonly #naming: Naming

  constructor(hosts: ReadonlySet<string>, naming: Naming) {
    this.#hosts = hosts
    this.#naming = naming
  }

  add(text: string, kind: ResourceKind): void {
    const name = kind.prefix === '' ? text : nameInUrl(text, kind.prefix, this.#hosts)
    if (name === undefined) return
    const kinds = this.found.get(name)
    if (kinds === undefined) this.found.set(name, [kind])
    else if (!kinds.includes(kind)) kinds.push(kind)
    const { who, most, param } = this.#naming
    if (this.found.size <= most) return
    throw new GatewayError('invalid_parameter', `The ${who} names more than ${most} files.`, { param, limit: 'named' })
  }
}

/** Kinds of resources that a form's field names: `images[][file_id]`, `images[0].file_id`, in every form that servers may read. */
function kindsAt(field: string, names: readonly ResourceReference[]): readonly ResourceKind[] {
  const written = field.split(/[^\w-]+/).filter(segment => !INDEX.test(segment))
  const meant = names.filter(({ path }) => path.filter(segment => segment !== '*').join(' ') === written.join(' '))
  return meant.map(({ kind }) => kind)
}

/** An index, or nothing between two separators. */
const INDEX = /^\d*$/

/** The caller's resource that is meant; `unknown` if it belongs to no key and an upstream accepts such ids. */
async function resourceMeant(
  call: Call,
  kinds: readonly ResourceKind[],
  text: string,
  exchanges: readonly Exchange[],
  param: string | undefined,
): Promise<OwnedResource | 'unknown'> {
  const ownership = call.kernel.need(OWNERSHIP)
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
  throw noObject(kinds[0], text, param)
}

/** Whether a body may name resources at all: not without one of the members. */
export function mayReference(body: Body, names: readonly ResourceReference[]): boolean {
  if (names.length === 0) return false
  if (body.type === 'form') return body.form.parts.some(({ part }) => kindsAt(part.name, names).length > 0)
  return body.type === 'bytes' && body.named !== false
}
