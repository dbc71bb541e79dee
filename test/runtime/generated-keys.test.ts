import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import t from 'tap'
import { fileName, generatedKey, KeyFileError, newKey } from '../../src/runtime/generated-keys.js'

const MODE = 0o777

t.test('a key is made once and read from then on', async t => {
  const data = join(t.testdir({}), 'data')
  const made = generatedKey(data, 'local', true)
  t.match(made?.reveal(), /^gw-[A-Za-z0-9_-]{43}$/)
  t.equal(generatedKey(data, 'local', true)?.reveal(), made?.reveal())
  t.equal(generatedKey(data, 'local', false)?.reveal(), made?.reveal())
})

t.test('nothing is made where nothing was asked for', async t => {
  const data = join(t.testdir({}), 'data')
  t.equal(generatedKey(data, 'local', false), undefined)
  t.throws(() => statSync(data), { code: 'ENOENT' })
})

t.test('the file is for its owner alone, and so is the folder', async t => {
  const data = join(t.testdir({}), 'data')
  generatedKey(data, 'local', true)
  t.equal(statSync(join(data, 'keys', 'local')).mode & MODE, 0o600)
  t.equal(statSync(join(data, 'keys')).mode & MODE, 0o700)
  t.strictSame(readdirSync(join(data, 'keys')), ['local'], 'no draft stays behind')
})

t.test('the mode of a file that others may read is restricted, and that is reported', async t => {
  const data = t.testdir({ keys: { local: 'gw-mine\n' } })
  const file = join(data, 'keys', 'local')
  chmodSync(file, 0o644)
  const notes: string[] = []
  t.equal(generatedKey(data, 'local', false, line => notes.push(line))?.reveal(), 'gw-mine')
  t.equal(statSync(file).mode & MODE, 0o600)
  t.match(notes, [/was readable by others/])
  t.notMatch(notes.join(), /gw-mine/)
})

t.test('keys differ from each other', async t => {
  const data = t.testdir({})
  t.not(generatedKey(data, 'a', true)?.reveal(), generatedKey(data, 'b', true)?.reveal())
  t.not(newKey().reveal(), newKey().reveal())
})

t.test('no key name leads out of the folder or meets another one', async t => {
  const names = ['..', '.', 'a/b', '../a', 'A', 'a', 'a b', 'ä', '%41', 'CON:', '\0', 'x'.repeat(500), 'x'.repeat(501)]
  const files = names.map(fileName)
  t.equal(new Set(files.map(file => file.toLowerCase())).size, names.length)
  for (const file of files) t.match(file, /^[a-z0-9_%-]{1,120}$/)
})

t.test('an empty file is refused, with advice', async t => {
  const data = t.testdir({ keys: { local: '\n' } })
  t.throws(() => generatedKey(data, 'local', true), {
    name: 'KeyFileError',
    message: /delete it to get a new one/,
  })
})

t.test('an unwritable folder is reported in one line', async t => {
  const data = t.testdir({ keys: 'a file where the folder should be' })
  t.throws(() => generatedKey(data, 'local', true), KeyFileError)
  t.throws(() => generatedKey(data, 'local', true), {
    message: /^the key "local" cannot be kept in .*; set its variable/,
  })
})

t.test('many that start at once agree on one key', async t => {
  const data = t.testdir({})
  mkdirSync(join(data, 'keys'))
  const module = new URL('../../src/runtime/generated-keys.js', import.meta.url).href
  const script = join(t.testdirName, 'race.mjs')
  writeFileSync(
    script,
    `import { parentPort, workerData } from 'node:worker_threads'
     import { generatedKey } from ${JSON.stringify(module)}
     Atomics.wait(workerData.gate, 0, 0)
     parentPort.postMessage(generatedKey(workerData.data, 'local', true).reveal())`,
  )
  const gate = new Int32Array(new SharedArrayBuffer(4))
  const workers = Array.from({ length: 4 }, () => new Worker(script, { workerData: { gate, data } }))
  const answers = workers.map(worker => new Promise<string>(resolve => worker.once('message', resolve)))
  await Promise.all(workers.map(worker => new Promise(resolve => worker.once('online', resolve))))
  Atomics.store(gate, 0, 1)
  Atomics.notify(gate, 0)
  t.equal(new Set(await Promise.all(answers)).size, 1)
  t.match(readFileSync(join(data, 'keys', 'local'), 'utf8'), (await answers[0]) ?? '')
})
