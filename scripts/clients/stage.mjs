// Where a program runs: a home and a working folder of its own, the gateway on loopback, and nowhere else to go.
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { KEY } from './gateway.mjs'
import { runToEnd } from './processes.mjs'

const RUN_TIMEOUT_MS = 60_000
const EVIDENCE_CHARACTERS = 1500
/** No one listens on the discard port: what a program asks of other hosts is refused at once. */
const NOWHERE = 'http://127.0.0.1:9'
const LOOPBACK = '127.0.0.1,localhost'
/** Fewer are an answer in one piece. */
const MIN_EVENTS = 5

const NOTE = 'note.txt'

/** What the file holds that the tool loops read. */
export const SECRET = 'The lighthouse key is under the third stone.'

/** The stage of one program: `run` it, `write` a file for it, and see its `requests`. */
export function stageFor(program, { folder, installed, gateway, models }) {
  const home = join(folder, 'home')
  const work = join(folder, 'work')
  const { files = {}, environment } = program.configure({ origin: gateway.origin, key: KEY, models })
  for (const [path, text] of Object.entries(files)) write(join(home, path), text)
  write(join(work, NOTE), `${SECRET}\n`)
  const [command, ...first] = program.command(installed)
  const env = { ...alone(home), PYTHONPATH: installed, ...program.quiet, ...environment }

  return {
    origin: gateway.origin,
    key: KEY,
    folder: work,
    note: join(work, NOTE),
    write: (path, text) => write(join(work, path), text),
    /** The requests since the last call; they all have to be answered well. */
    async requests() {
      const requests = await gateway.newRequests()
      areWell({ requests })
      return requests
    },
    /** Runs the program; it has to succeed, and each of its requests, of which there is one at least. */
    async run(args) {
      await gateway.newRequests()
      const ended = await runToEnd(command, [...first, ...args], { cwd: work, env, timeoutMs: RUN_TIMEOUT_MS })
      const seen = { ...ended, requests: await gateway.newRequests() }
      expect(!seen.timedOut, `did not end within ${RUN_TIMEOUT_MS / 1000} s`, seen)
      expect(seen.code === 0, `ended with ${seen.code}`, seen)
      areWell(seen)
      return seen
    },
  }
}

function areWell(seen) {
  expect(seen.requests.length > 0, 'asked the gateway nothing', seen)
  const well = ({ status, outcome }) => status >= 200 && status < 300 && outcome === 'ok'
  expect(seen.requests.every(well), 'a request was not answered well', seen)
}

/** An environment without anything of the caller's, from which only loopback is reached. */
function alone(home) {
  const proxies = { HTTP_PROXY: NOWHERE, HTTPS_PROXY: NOWHERE, NO_PROXY: LOOPBACK, no_proxy: LOOPBACK }
  return { PATH: process.env.PATH, HOME: home, TMPDIR: home, LANG: 'C.UTF-8', TERM: 'dumb', ...proxies }
}

function write(path, text) {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

/** Fails with what was seen, in short. */
export function expect(condition, complaint, { out = '', err = '', requests = [] } = {}) {
  if (condition) return
  const asked = requests.map(({ method, route, status, outcome, error }) =>
    [method, route, status, outcome, error && JSON.stringify(error)].filter(Boolean).join(' '),
  )
  const evidence = [...asked, out.slice(-EVIDENCE_CHARACTERS), err.slice(-EVIDENCE_CHARACTERS)]
  throw new Error([complaint, ...evidence].join('\n').trim())
}

export function includes(seen, wanted) {
  expect(seen.out.includes(wanted), `did not print ${JSON.stringify(wanted)}`, seen)
}

/** The answer came in pieces: each request was a stream, and the last one, with its text, of many events. */
export function streamed(seen) {
  const last = seen.requests.at(-1)
  expect(last?.stream === true && last.events > MIN_EVENTS, 'was not streamed', seen)
}

/** The lines of an output that are JSON. */
export function jsonLines({ out }) {
  return out.split('\n').flatMap(line => {
    try {
      return [JSON.parse(line)]
    } catch {
      return []
    }
  })
}

/** The answer has the form that was asked for: a name, and a whole number as the age. */
export function isDog(value, seen) {
  const keys = Object.keys(value ?? {})
    .sort()
    .join()
  expect(keys === 'age,name' && typeof value.name === 'string' && Number.isInteger(value.age), 'does not fit', seen)
}

export const DOG = {
  type: 'object',
  properties: { name: { type: 'string' }, age: { type: 'integer' } },
  required: ['name', 'age'],
  additionalProperties: false,
}
