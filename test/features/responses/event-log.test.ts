import { randomBytes } from 'node:crypto'
import t from 'tap'
import { EventLog } from '../../../src/features/responses/event-log.js'

const KIB = 1024

t.test('every event is found by its number, small ones and large ones', t => {
  const log = new EventLog()
  const frames = Array.from(
    { length: 5000 },
    (_, n) => `data: é${n}${'x'.repeat(n % 1000 === 7 ? 50 * KIB : n % 40)}\n\n`,
  )
  for (const frame of frames) log.append(frame)
  t.equal(log.next, 5000)
  t.ok(frames.every((frame, n) => String(log.at(n)) === frame))
  t.equal(log.at(-1), undefined)
  t.equal(log.at(5000), undefined)
  const bytes = frames.reduce((sum, frame) => sum + Buffer.byteLength(frame), 0)
  t.ok(log.size < 1.6 * bytes, `${log.size} bytes of memory for ${bytes}`)
  t.end()
})

t.test('the oldest go first, none that has to be read yet, and never the newest', t => {
  const log = new EventLog()
  for (let n = 0; n < 1000; n++) log.append(`data: ${String(n).padStart(KIB, '0')}\n\n`)
  log.trim(200 * KIB, 900)
  t.ok(log.size <= 200 * KIB && log.size > 180 * KIB)
  t.equal(log.at(log.first - 1), undefined)
  t.match(String(log.at(log.first)), `0${log.first}\n`)
  log.trim(0, 900)
  t.ok(log.first <= 900 && log.first > 880, 'what is unread stays')
  log.trim(0, log.next)
  t.match(String(log.at(999)), '0999\n')
  t.end()
})

t.test('older events are compressed before any is let go of, and are read as they were', t => {
  const log = new EventLog()
  const frames: string[] = []
  for (let n = 0; n < 4000; n++) {
    const said = n % 900 === 5 ? randomBytes(20 * KIB).toString('hex') : `word ${n}`
    frames.push(
      `event: response.output_text.delta\ndata: {"item_id":"msg_1","sequence_number":${n},"delta":"${said}"}\n\n`,
    )
    log.append(frames.at(-1) ?? '')
    if (log.size > 256 * KIB) log.trim(256 * KIB, log.next)
  }
  t.equal(log.first, 0, `${log.size} bytes hold ${frames.join('').length}`)
  t.ok(log.size <= 256 * KIB)
  for (const at of [0, 3999, 1, 2500, 905, 2, 3998, 2501]) t.ok(String(log.at(at)) === frames[at], `event ${at}`)
  t.ok(frames.every((frame, n) => String(log.at(n)) === frame))
  log.trim(32 * KIB, log.next)
  t.ok(log.first > 0 && log.first < 3990 && log.size <= 32 * KIB, 'then the oldest go')
  for (let n = log.first; n < 4000; n++) if (String(log.at(n)) !== frames[n]) t.fail(`event ${n}`)
  t.end()
})
