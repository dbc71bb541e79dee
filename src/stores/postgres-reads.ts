import type { Place } from '../core/store.js'
import { type PostgresPool, type Row, statement } from './postgres-pool.js'

const ONE = statement(`
  SELECT created, expires, due, version, fence, value FROM records
  WHERE namespace = $1 AND owner = $2 AND key = $3 AND expires > $4`)

/** Each place is looked up by itself: no plan is good that reads the table. */
const SEVERAL = statement(`
  SELECT w.number, r.created, r.expires, r.due, r.version, r.fence, r.value
  FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS w (namespace, owner, key, number),
  LATERAL (
    SELECT * FROM records
    WHERE namespace = w.namespace AND owner = w.owner AND key = w.key AND expires > $4
    LIMIT 1
  ) r`)

/** Maximum places in one statement: its whole answer is in memory at once. */
const MAX_PLACES_PER_READ = 32
/** How long a read waits at most for the answers to those before it, milliseconds. */
const BATCH_DELAY_MS = 5

interface Reading {
  readonly place: Place
  readonly row: Promise<Row | undefined>
  readonly resolve: (row: Row | undefined) => void
  readonly reject: (error: unknown) => void
}

/**
 * Reads of single records. A statement costs much more than its row, and clients that poll come many at a time: what is
 * asked for in one turn of the event loop, or while the answer to what came before is under way, shares a statement.
 */
export class PostgresReads {
  readonly #pool: PostgresPool
  readonly #now: () => number
  /** By place: who asks for the same record gets the same row. */
  #waiting = new Map<string, Reading>()
  #underWay = 0
  #immediate: NodeJS.Immediate | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(pool: PostgresPool, now: () => number) {
    this.#pool = pool
    this.#now = now
  }

  /** All of the row but the place. */
  get(place: Place): Promise<Row | undefined> {
    const name = `${place.namespace} ${place.owner} ${place.key}`
    const known = this.#waiting.get(name)
    if (known !== undefined) return known.row
    const reading = readingOf(place)
    this.#waiting.set(name, reading)
    if (this.#waiting.size === MAX_PLACES_PER_READ) this.send()
    else if (this.#underWay === 0) this.#immediate ??= setImmediate(() => this.send())
    else this.#timer ??= setTimeout(() => this.send(), BATCH_DELAY_MS)
    return reading.row
  }

  private send(): void {
    clearImmediate(this.#immediate)
    clearTimeout(this.#timer)
    this.#immediate = undefined
    this.#timer = undefined
    if (this.#waiting.size === 0) return
    const readings = [...this.#waiting.values()]
    this.#waiting = new Map()
    this.#underWay++
    this.read(readings.map(({ place }) => place))
      .then(
        rows => {
          for (const [index, { resolve }] of readings.entries()) resolve(rows[index])
        },
        (error: unknown) => {
          for (const { reject } of readings) reject(error)
        },
      )
      .finally(() => {
        this.#underWay--
        if (this.#underWay === 0) this.send()
      })
  }

  /** Rows by the index of their place. */
  private async read(places: readonly Place[]): Promise<readonly (Row | undefined)[]> {
    const [first] = places
    if (first === undefined) return []
    const now = this.#now()
    if (places.length === 1) return this.#pool.query(ONE, first.namespace, first.owner, first.key, now)
    const column = (name: keyof Place): string[] => places.map(place => place[name])
    const rows = await this.#pool.query(SEVERAL, column('namespace'), column('owner'), column('key'), now)
    const found: (Row | undefined)[] = places.map(() => undefined)
    for (const row of rows) found[Number(row.number) - 1] = row
    return found
  }
}

function readingOf(place: Place): Reading {
  let resolve: Reading['resolve'] = () => undefined
  let reject: Reading['reject'] = () => undefined
  const row = new Promise<Row | undefined>((fulfil, fail) => {
    resolve = fulfil
    reject = fail
  })
  return { place, row, resolve, reject }
}
