import { type Check, type CheckedRequest, isCheck, readVerdict } from '../core/check.js'
import { ASSERTS, type Declare, hold } from './asserts.js'

/** A request to ask a check about. What is left out is that of a plain chat request. */
export interface SampleRequest extends Partial<Omit<CheckedRequest, 'body' | 'signal'>> {
  readonly body?: unknown
}

/** Requests with a known verdict. */
export interface CheckSamples {
  readonly passes: readonly SampleRequest[]
  readonly refuses: readonly SampleRequest[]
}

const SAMPLE = {
  id: 'sample',
  caller: { name: 'sample', groups: [] },
  route: 'POST /v1/chat/completions',
  operation: 'chat',
  model: 'sample-model',
  stream: false,
  headers: {},
} as const
/** Requests at once. */
const AT_ONCE = 32
/** Longest time for an answer, milliseconds: as the gateway has it where the file says nothing. */
const DEFAULT_TIMEOUT_MS = 2000

/**
 * What the gateway expects of a check, as tests: declare them for a module of your own.
 *
 * @param declare is called once for each behaviour.
 * @param open opens the check, as the gateway does by `openCheck(options, tools)`. The tests close it.
 * @param samples requests that it lets pass and that it refuses, at least one of them.
 */
export function checkContract(declare: Declare, open: () => Check | Promise<Check>, samples: CheckSamples): void {
  const { passes, refuses } = samples
  const test = (title: string, run: (check: Check) => Promise<void>): void => {
    declare(title, async () => {
      const check = await open()
      hold(isCheck(check), 'openCheck must return an object with a function check', check)
      try {
        await run(check)
      } finally {
        await check.close?.()
      }
    })
  }
  test('it lets pass what it should', async check => {
    hold(passes.length + refuses.length > 0, 'there are no samples')
    for (const sample of passes) ASSERTS.equal(await verdict(check, sample), 'pass')
  })
  test('it refuses what it should, with a reason and a status that clients may get', async check => {
    for (const sample of refuses) {
      const said = await verdict(check, sample)
      hold(said !== 'pass', 'it lets a request pass that it should refuse', sample)
    }
  })
  test('it says the same of the same request, also of many at once', async check => {
    for (const sample of [...passes, ...refuses]) {
      const said = await verdict(check, sample)
      const all = await Promise.all(Array.from({ length: AT_ONCE }, () => verdict(check, sample)))
      for (const one of all) ASSERTS.same(one, said)
    }
  })
  test('it does not change the body, which other checks read, too', async check => {
    for (const sample of [...passes, ...refuses]) {
      const given = structuredClone(sample.body)
      await verdict(check, sample, given)
      ASSERTS.same(given, sample.body)
    }
  })
  test('it answers about requests without a body, a model or headers', async check => {
    await verdict(check, { body: undefined, model: '', headers: {}, operation: '' })
  })
}

/** What the check says, read as the gateway reads it. It gets a body of its own: `given`. */
async function verdict(
  check: Check,
  { body, ...sample }: SampleRequest,
  given = structuredClone(body),
): Promise<object | 'pass'> {
  const over = new AbortController()
  const request: CheckedRequest = { ...SAMPLE, ...sample, signal: over.signal, body: async () => given }
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${DEFAULT_TIMEOUT_MS} ms`)), DEFAULT_TIMEOUT_MS)
  })
  try {
    const said: unknown = await Promise.race([check.check(request), late])
    const read = readVerdict(said)
    hold(read !== undefined, "the answer is neither 'pass' nor { refuse: 'a reason', status }", said)
    return read ?? 'pass'
  } finally {
    clearTimeout(timer)
    over.abort()
  }
}
