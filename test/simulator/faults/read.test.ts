import t from 'tap'
import { SimulatorError } from '../../../simulator/src/errors.js'
import { askedOf, readFaultHeader, readFaults, readModelName } from '../../../simulator/src/faults/read.js'
import { FAULTS } from '../../../simulator/src/faults/table.js'

t.test('a model without a question mark names no faults', async t => {
  t.same(readModelName('sim-text'), { model: 'sim-text', faults: {}, asked: '' })
})

t.test('faults in the name of a model are written as in the query of a URL', async t => {
  t.match(readModelName('sim-text?status=429&retry-after=2&hang'), {
    model: 'sim-text',
    faults: { status: 429, 'retry-after': 2, hang: true },
  })
  t.match(readModelName('sim-text?redirect=http%3A%2F%2F127.0.0.1%2Fx'), { faults: { redirect: 'http://127.0.0.1/x' } })
})

t.test('faults in a header are separated by spaces or commas', async t => {
  t.match(readFaultHeader('latency=50ms  jitter=2s, failure-rate=0.1,pace=1.5ms'), {
    latency: 50,
    jitter: 2000,
    'failure-rate': 0.1,
    pace: 1.5,
  })
  t.same({ ...readFaultHeader(undefined) }, {})
})

t.test('sizes have units', async t => {
  t.match(readFaultHeader('truncate=10 big-line=64KiB bomb=10GiB'), {
    truncate: 10,
    'big-line': 65_536,
    bomb: 10 * 2 ** 30,
  })
})

const REFUSED = [
  'wat=1',
  '__proto__=1',
  'constructor',
  'latency=50',
  'latency=11m',
  'latency=-1s',
  'status=199',
  'status=600',
  'failure-rate=1.1',
  'failure-rate=x',
  'hang=no',
  'split=-1',
  'bomb=17GiB',
  'raw=other',
  'redirect=nowhere',
  `reset-after=${'9'.repeat(30)}`,
  'x'.repeat(5000),
]

for (const text of REFUSED) {
  t.test(`refused: ${text.slice(0, 40)}`, async t => {
    t.throws(() => readFaultHeader(text), SimulatorError)
    t.throws(() => readModelName(`sim-text?${text}`), SimulatorError)
  })
}

t.test('an unknown fault is answered with the names of all that there are', async t => {
  t.throws(() => readModelName('sim-text?wat=1'), { status: 400, message: Object.keys(FAULTS).join(', ') })
})

t.test('every fault tells what it does and what it takes', async t => {
  for (const [name, fault] of Object.entries(FAULTS)) {
    t.match(name, /^[a-z]+(-[a-z0-9]+)*$/)
    t.match(fault.description, /^[A-Z].*\.$/)
    t.ok(fault.value.written.length > 0)
  }
})

t.test('faults of a later stage are checked with the others, and are read for that stage alone', async t => {
  const asked = 'polls=4&poll.status=429&poll.times=2&content.truncate=1KiB'
  t.same({ ...readModelName(`sim-video?${asked}`).faults }, { polls: 4 })
  t.same({ ...readFaults(asked, 'poll') }, { status: 429, times: 2 })
  t.same({ ...readFaults(asked, 'content') }, { truncate: 1024 })
  t.same(askedOf('polls=4, poll.status=429'), 'polls=4&poll.status=429')
  for (const wrong of ['poll.nothing', 'later.status=429', 'poll.status=x', 'poll.poll.hang']) {
    t.throws(() => readModelName(`sim-video?${wrong}`), SimulatorError)
  }
})
