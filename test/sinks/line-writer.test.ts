import { execFileSync } from 'node:child_process'
import { closeSync, constants, openSync, readFileSync, readSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { LineWriter } from '../../src/sinks/line-writer.js'
import { standStill } from '../helpers/stand-still.js'

const WORDS = ['plain', 'naïve café', '東京', '😀 beyond', '"quoted" \\ line']

t.test('every line arrives whole and in order, of any length and script', async t => {
  const path = join(t.testdir(), 'log')
  const descriptor = openSync(path, 'w')
  const lines = Array.from({ length: 3000 }, (_, i) => `${i} ${WORDS[i % WORDS.length]?.repeat(1 + (i % 90))}\n`)
  lines.push(`${'long '.repeat(50_000)}\n`, 'after it\n')
  const writer = new LineWriter(descriptor)
  for (const [index, line] of lines.entries()) {
    if (index % WORDS.length === 0) writer.writeAscii(line)
    else writer.write(line)
    if (index % 500 === 0) await new Promise(resolve => setImmediate(resolve))
  }
  while (!readFileSync(path, 'utf8').endsWith('after it\n')) await new Promise(resolve => setTimeout(resolve, 5))
  closeSync(descriptor)
  t.equal(readFileSync(path, 'utf8'), lines.join(''))
  t.equal(writer.dropped, 0)
})

t.test('lines go out by themselves', async t => {
  const path = join(t.testdir(), 'log')
  const descriptor = openSync(path, 'w')
  const writer = new LineWriter(descriptor)
  writer.write('one line\n')
  while (readFileSync(path, 'utf8') === '') await new Promise(resolve => setTimeout(resolve, 5))
  t.equal(readFileSync(path, 'utf8'), 'one line\n')
  closeSync(descriptor)
})

t.test('closing writes the rest of the batch', async t => {
  const path = join(t.testdir(), 'log')
  const descriptor = openSync(path, 'w')
  const writer = new LineWriter(descriptor)
  for (const word of WORDS) writer.write(`${word}\n`)
  await writer.close()
  closeSync(descriptor)
  t.equal(readFileSync(path, 'utf8'), `${WORDS.join('\n')}\n`)
})

t.test('F-P12 unread lines are bounded, and dropped ones are counted', async t => {
  const path = join(t.testdir(), 'log')
  const descriptor = openSync(path, 'w')
  const writer = new LineWriter(descriptor)
  const line = `${'x'.repeat(1023)}\n`
  const written = 16 * 1024
  // No turn of the event loop comes between, so no write can end.
  for (let i = 0; i < written; i++) writer.write(line)
  await writer.close()
  closeSync(descriptor)
  t.ok(writer.dropped > written / 2, `${writer.dropped} dropped`)
  t.ok(writer.dropped < written, 'some are held')
})

t.test('closing finishes the current write once, before the rest', async t => {
  const path = join(t.testdir(), 'log')
  const descriptor = openSync(path, 'w')
  const writer = new LineWriter(descriptor)
  const lines = Array.from({ length: 2000 }, (_, n) => `${n} ${'x'.repeat(90)}\n`)
  for (const line of lines) writer.write(line)
  await writer.close()
  closeSync(descriptor)
  t.equal(readFileSync(path, 'utf8'), lines.join(''))
  t.equal(writer.dropped, 0)
})

t.test('a process that is stopped while it closes loses no line', async t => {
  const path = join(t.testdir(), 'log')
  const descriptor = openSync(path, 'w')
  const writer = new LineWriter(descriptor)
  const lines = Array.from({ length: 1000 }, (_, n) => `${n} ${'x'.repeat(90)}\n`)
  for (const line of lines) writer.write(line)
  const closed = writer.close()
  // Longer than it waits for the write under way.
  standStill(700)
  await closed
  closeSync(descriptor)
  t.equal(readFileSync(path, 'utf8'), lines.join(''))
  t.equal(writer.dropped, 0)
})

t.test('F-P12 a stuck reader does not delay closing', async t => {
  const path = join(t.testdir(), 'pipe')
  execFileSync('mkfifo', [path])
  const descriptor = openSync(path, constants.O_RDWR)
  const writer = new LineWriter(descriptor)
  const line = 'x'.repeat(2 ** 17)
  writer.write(line)
  writer.write('y'.repeat(2 ** 17))
  await writer.close()
  t.equal(writer.dropped, 1)
  // Lets the write go that stops.
  const buffer = Buffer.alloc(2 ** 16)
  for (let left = line.length; left > 0; ) left -= readSync(descriptor, buffer)
  closeSync(descriptor)
})

t.test('what follows a line that was cut shares no memory with others', async t => {
  const poolSize = Buffer.poolSize
  // As from Node 26.3 on: as large as a batch.
  Buffer.poolSize = 64 * 1024
  t.teardown(() => {
    Buffer.poolSize = poolSize
  })
  for (let left = 2 * poolSize; left > 0; left -= 1024) Buffer.from('p'.repeat(1024))
  const folder = t.testdir()
  execFileSync('mkfifo', [join(folder, 'pipe')])
  const reader = openSync(join(folder, 'pipe'), constants.O_RDONLY | constants.O_NONBLOCK)
  const pipe = openSync(join(folder, 'pipe'), constants.O_WRONLY | constants.O_NONBLOCK)
  const place = { descriptor: pipe }
  const writer = new LineWriter(place)
  writer.write(`${'x'.repeat(2 ** 18)}\n`)
  // A part of the line is in the pipe; then no one reads it any more.
  const hasBegun = (): boolean => {
    try {
      return readSync(reader, Buffer.allocUnsafeSlow(1)) > 0
    } catch {
      return false
    }
  }
  while (!hasBegun()) await new Promise(resolve => setTimeout(resolve, 5))
  closeSync(reader)
  while (writer.dropped === 0) await new Promise(resolve => setTimeout(resolve, 5))
  place.descriptor = openSync(join(folder, 'log'), 'w')
  const written = (): string => readFileSync(join(folder, 'log'), 'utf8')
  writer.write('behind it\n')
  const others = Array.from({ length: 200 }, () => Buffer.from('o'.repeat(64)))
  while (written() !== '\nbehind it\n') await new Promise(resolve => setTimeout(resolve, 5))
  for (let i = 0; i < 3000; i++) writer.write(`${'y'.repeat(90)}\n`)
  await writer.close()
  t.equal(written().length, 11 + 3000 * 91)
  for (const other of others) if (other.toString() !== 'o'.repeat(64)) t.fail('another buffer was overwritten')
  for (const descriptor of [pipe, place.descriptor]) closeSync(descriptor)
})
