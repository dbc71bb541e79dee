import t from 'tap'
import { RetryBudget } from '../../../src/features/retries/budget.js'
import { seeded } from '../../helpers/random.js'

const WINDOW_MS = 10_000
const FLOOR = 10
const SHARE = 0.2

/** How many of some times, which come in order, are in the window of ten seconds before the last. */
class Recent {
  readonly #times: number[] = []
  #from = 0

  add(time: number): void {
    this.#times.push(time)
  }

  since(now: number): number {
    while ((this.#times[this.#from] ?? Number.POSITIVE_INFINITY) <= now - WINDOW_MS) this.#from++
    return this.#times.length - this.#from
  }
}

interface Found {
  /** The first time at which there were too many repetitions. */
  readonly wrong: string | undefined
  readonly wanted: number
  readonly refused: number
  readonly sent: number
  /** Repetitions in one window, at most. */
  readonly most: number
}

function run(seed: number): Found {
  const random = seeded(seed)
  const budget = new RetryBudget()
  const [requests, repeated] = [new Recent(), new Recent()]
  let [now, wanted, refused, sent, most] = [random() * 1e6, 0, 0, 0, 0]
  for (let step = 0; step < 1500; step++) {
    now += random() < 0.02 ? random() * 20_000 : random() * 40
    if (random() < 0.5) {
      budget.request(now)
      requests.add(now)
      continue
    }
    wanted++
    if (!budget.hold(SHARE, now)) refused++
    else if (random() < 0.1) budget.giveBack()
    else {
      budget.send(now)
      repeated.add(now)
      sent++
      const [seen, allowed] = [repeated.since(now), Math.max(FLOOR, SHARE * requests.since(now))]
      most = Math.max(most, seen)
      const wrong = `seed ${seed}: ${seen} repetitions in ten seconds, ${allowed} are allowed`
      if (seen > allowed) return { wrong, wanted, refused, sent, most }
    }
  }
  return { wrong: undefined, wanted, refused, sent, most }
}

t.test(
  'in no window of ten seconds before a repetition are there more of them than a fifth of the requests',
  async t => {
    const found = Array.from({ length: 200 }, (_, seed) => run(seed))
    t.equal(found.find(({ wrong }) => wrong !== undefined)?.wrong, undefined)
    const starved = found.findIndex(({ sent, wanted }) => sent < Math.min(wanted, FLOOR) * 0.5)
    t.equal(starved, -1, 'a quiet upstream gets repetitions, too')
    const decides = found.some(({ most, refused }) => most > FLOOR && refused > 0)
    t.ok(decides, 'the share decides, not the floor alone')
  },
)

t.test('what is held counts until it is given back', async t => {
  const budget = new RetryBudget()
  for (let held = 0; held < FLOOR; held++) t.equal(budget.hold(0, 0), true)
  t.equal(budget.hold(0, 0), false)
  budget.giveBack()
  t.equal(budget.hold(0, 0), true)
})

t.test('what was sent counts for ten seconds, and no longer than eleven', async t => {
  const budget = new RetryBudget()
  for (let sent = 0; sent < FLOOR; sent++) {
    budget.hold(0, 999)
    budget.send(999)
  }
  t.equal(budget.hold(0, 999 + WINDOW_MS - 1), false)
  t.equal(budget.hold(0, 999 + WINDOW_MS + 1001), true)
})
