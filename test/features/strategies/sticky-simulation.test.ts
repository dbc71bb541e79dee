import { hash } from 'node:crypto'
import t from 'tap'
import { rendezvous } from '../../../src/core/rendezvous.js'
import { seeded } from '../../helpers/random.js'

/** Ten upstreams for 100 minutes: 1,000 upstream-minutes. */
const [UPSTREAMS, MINUTES] = [10, 100]
const MINUTE_MS = 60_000
/** An upstream keeps a prompt this long after its last use. */
const CACHED_MS = 5 * MINUTE_MS
const TURNS = 8
const CONVERSATIONS_PER_MINUTE = 120

interface Turn {
  readonly at: number
  readonly conversation: number
  readonly turn: number
}

/** The turns of conversations: each takes 2 to 10 s to be answered, and half a minute passes until the next. */
function turnsOf(random: () => number): readonly Turn[] {
  const turns: Turn[] = []
  for (let conversation = 0; conversation < CONVERSATIONS_PER_MINUTE * MINUTES; conversation++) {
    let at = random() * MINUTES * MINUTE_MS
    for (let turn = 0; turn < TURNS; turn++) {
      turns.push({ at, conversation, turn })
      at += 10_000 + random() * 50_000
    }
  }
  return turns.filter(({ at }) => at < MINUTES * MINUTE_MS).toSorted((one, other) => one.at - other.at)
}

type Choose = (digest: Uint8Array, up: readonly string[], inFlight: ReadonlyMap<string, number>) => string

/** Of all turns but first ones, the share that finds its prompt in the cache of the upstream that it comes to; and moves. */
function run(choose: Choose, upAt: (minute: number) => readonly string[], random: () => number) {
  const [inFlight, cached] = [new Map<string, number>(), new Map<string, number>()]
  const last = new Map<number, string>()
  const ends: { readonly at: number; readonly name: string }[] = []
  const shares = new Map<string, number>()
  let [hits, later, moved, worst, atChange, movedThen] = [0, 0, 0, 0, 0, 0]
  for (const { at, conversation, turn } of turnsOf(random)) {
    for (let index = ends.length - 1; index >= 0 && (ends[index]?.at ?? 0) <= at; index--) {
      const name = ends.pop()?.name ?? ''
      inFlight.set(name, (inFlight.get(name) ?? 1) - 1)
    }
    const up = upAt(at / MINUTE_MS)
    const name = choose(hash('sha256', `${conversation}`, 'buffer'), up, inFlight)
    if (turn > 0) {
      later++
      if ((cached.get(`${name} ${conversation}`) ?? Number.NEGATIVE_INFINITY) > at - CACHED_MS) hits++
      const before = last.get(conversation)
      const isMoved = before !== name && before !== undefined && up.includes(before)
      if (isMoved) moved++
      if (CHANGES.some(minute => at >= minute * MINUTE_MS && at < (minute + 0.5) * MINUTE_MS)) {
        atChange++
        if (isMoved) movedThen++
      }
    }
    last.set(conversation, name)
    cached.set(`${name} ${conversation}`, at)
    shares.set(name, (shares.get(name) ?? 0) + 1)
    inFlight.set(name, (inFlight.get(name) ?? 0) + 1)
    const all = [...inFlight.values()].reduce((sum, one) => sum + one, 0)
    if (all >= 80) worst = Math.max(worst, (inFlight.get(name) ?? 0) / (all / up.length))
    const end = { at: at + 2000 + random() * 8000, name }
    let place = ends.length
    while (place > 0 && (ends[place - 1]?.at ?? 0) < end.at) place--
    ends.splice(place, 0, end)
  }
  return { hits: hits / later, moved: moved / later, movedThen: movedThen / atChange, worst, shares }
}

const NAMES = Array.from({ length: UPSTREAMS }, (_, index) => `u${index}`)
/** Minutes at which upstreams come or go. */
const CHANGES = [30, 60, 70]
/** One is away from minute 30 to 60; one is added at minute 70. */
const changing = (minute: number): readonly string[] => [
  ...NAMES.filter((_, index) => index !== 4 || minute < 30 || minute >= 60),
  ...(minute >= 70 ? ['new'] : []),
]

const bySticky: Choose = (digest, up, inFlight) =>
  rendezvous(
    digest,
    up.map(name => ({ name, weight: 1, inFlight: inFlight.get(name) ?? 0 })),
  )[0]?.name ?? ''

t.test('1,000 upstream-minutes: sticky finds prompts in caches, also while targets come and go', async t => {
  const draw = seeded(9)
  const ways: Readonly<Record<string, Choose>> = {
    random: (_, up) => up[Math.floor(draw() * up.length)] ?? '',
    modulo: (digest, up) => up[((digest[0] ?? 0) * 256 + (digest[1] ?? 0)) % up.length] ?? '',
    sticky: bySticky,
  }
  const results = Object.entries(ways).map(([name, choose]) => {
    const result = run(choose, changing, seeded(1))
    const spread = [...NAMES, 'new'].map(one => result.shares.get(one) ?? 0)
    const all = spread.reduce((sum, one) => sum + one, 0)
    const percents = spread.map(one => Math.round((one / all) * 100)).join(' ')
    console.log(
      `# MEASURED: ${name}: ${all} turns, ${(result.hits * 100).toFixed(1)} % of later ones hit a cache, ${(result.moved * 100).toFixed(1)} % moved although their target was there (${(result.movedThen * 100).toFixed(1)} % right after a change of targets), most loaded ${result.worst.toFixed(2)} of its share, shares in % ${percents}`,
    )
    return [name, result] as const
  })
  const { random, modulo, sticky } = Object.fromEntries(results)
  t.ok((sticky?.hits ?? 0) > 0.95, 'most turns find their prompt')
  t.ok((sticky?.hits ?? 0) > 2 * (random?.hits ?? 1))
  t.ok((sticky?.movedThen ?? 1) < 0.3 * (modulo?.movedThen ?? 0), 'a change of targets moves few conversations')
  t.ok((sticky?.worst ?? 9) < 2, 'no target has more than the bound under way')
})

t.test('a target that goes takes only its own conversations with it; one that comes takes its share', async t => {
  const digests = Array.from({ length: 5000 }, (_, index) => hash('sha256', `${index}`, 'buffer'))
  const of = (up: readonly string[]): readonly string[] => digests.map(one => bySticky(one, up, new Map()))
  const before = of(NAMES)
  const without = of(NAMES.filter(name => name !== 'u4'))
  t.ok(before.every((name, index) => name === 'u4' || without[index] === name))
  const more = of([...NAMES, 'new'])
  t.ok(before.every((name, index) => more[index] === name || more[index] === 'new'))
  const taken = more.filter(name => name === 'new').length / digests.length
  t.ok(Math.abs(taken - 1 / 11) < 0.02, `${taken} of ${1 / 11}`)
})
