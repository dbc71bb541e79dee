import { isObject, parseJson } from '../../core/json.js'
import { isPlace, type Store } from '../../core/store.js'
import { type ServiceKey, serviceKey } from '../../kernel/services.js'
import { type Slot, slot } from '../../kernel/slot.js'
import { stored } from '../../kernel/stored.js'

const NAMESPACE = 'batch-models'
const DAY_MS = 24 * 3_600_000
/** How long the names of a batch are kept: as long as the batch itself, milliseconds. */
const RETENTION_MS = 5 * 365 * DAY_MS
/** Most requests of a batch that are recorded one by one. */
const MAX_NOTED = 4096

/** The client's names of models that an upstream names in results. */
export interface ResultNames {
  /** Client's names by the upstream's. */
  readonly sent: Readonly<Record<string, string>>
  /** If the client used several names of one upstream model: the other ones, by request. */
  readonly requests: Readonly<Record<string, string>>
}

/** For a batch, by upstream: the names in its results, if they differ from the client's. */
export const RESULT_NAMES: Slot<ReadonlyMap<string, ResultNames>> = slot('result_names')

/** Collects the names, request by request. */
export class ResultNamesDraft {
  readonly #sent = new Map<string, string>()
  readonly #requests = new Map<string, string>()

  add(request: string, asked: string, sent: string): void {
    const first = this.#sent.get(sent)
    if (first === undefined) this.#sent.set(sent, asked)
    else if (first !== asked && this.#requests.size < MAX_NOTED) this.#requests.set(request, asked)
  }

  /** Undefined if the upstream uses the client's own names. */
  get names(): ResultNames | undefined {
    if (this.#requests.size === 0 && [...this.#sent].every(([sent, asked]) => sent === asked)) return undefined
    return { sent: Object.fromEntries(this.#sent), requests: Object.fromEntries(this.#requests) }
  }
}

/**
 * The client's name of the model that answered a request. `reported`: the upstream's name, which may be a dated version of the
 * requested one. Undefined if it needs no change.
 */
export function nameOfResult(
  { sent, requests }: ResultNames,
  request: string | undefined,
  reported: string,
): string | undefined {
  if (request !== undefined && Object.hasOwn(requests, request)) return requests[request]
  const known = Object.keys(sent)
  const meant = known.filter(name => isVersion(reported, name)).sort((one, other) => other.length - one.length)[0]
  const name = meant ?? (known.length === 1 ? known[0] : undefined)
  const asked = name === undefined ? undefined : sent[name]
  return asked === name ? undefined : asked
}

/** Whether a name is `name`, or `name` with a version after it. */
function isVersion(reported: string, name: string): boolean {
  return reported.startsWith(name) && (reported.length === name.length || /^[-@:]/.test(reported.slice(name.length)))
}

export const BATCH_NAMES: ServiceKey<BatchNames> = serviceKey('batch_names')

/** Stores the names of batches for their owners. */
export class BatchNames {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  /** Throws `unavailable` if the store fails. */
  async note(owner: string, id: string, names: ResultNames): Promise<void> {
    const place = { namespace: NAMESPACE, owner, key: id }
    if (!isPlace(place)) return
    const created = Date.now()
    const value = Buffer.from(JSON.stringify(names))
    await stored(this.#store.create({ ...place, created, expires: created + RETENTION_MS, value }))
  }

  async find(owner: string, id: string): Promise<ResultNames | undefined> {
    const place = { namespace: NAMESPACE, owner, key: id }
    const record = isPlace(place) ? await stored(this.#store.get(NAMESPACE, owner, id)) : undefined
    const names = record && parseJson(Buffer.from(record.value).toString('utf8'))
    return isObject(names) ? (names as unknown as ResultNames) : undefined
  }

  async forget(owner: string, id: string): Promise<void> {
    const place = { namespace: NAMESPACE, owner, key: id }
    if (isPlace(place)) await stored(this.#store.delete(place))
  }
}
