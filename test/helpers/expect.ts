import type { Test } from 'tap'
import type { Answer } from './raw-client.js'

export interface CompatibleError {
  readonly message: string
  readonly type: string
  readonly param: string | null
  readonly code: string | null
}

/** Asserts a whole error answer of the compatible family and hands out its inner object. */
export function compatibleError(t: Test, answer: Answer, status: number, code?: string | null): CompatibleError {
  t.equal(answer.status, status, `status ${status}`)
  t.equal(answer.whole, true, 'the answer is whole')
  t.match(answer.header('content-type'), /^application\/json/)
  t.match(answer.header('x-request-id'), /^[\w.:/+=-]+$/, 'x-request-id is there')
  const { error } = answer.json() as { error: CompatibleError }
  t.same(Object.keys(error).sort(), ['code', 'message', 'param', 'type'], 'the family has these four members')
  if (code !== undefined) t.equal(error.code, code, `code ${code}`)
  t.notMatch(error.message, /127\.0\.0\.|localhost|\.ts:|\.js:|node:/, 'no address and no stack')
  return error
}

/** The events of a stream: their data, and their name where they have one. Comments are left out. */
export function eventsOf(text: string): { event?: string; data: string }[] {
  return text
    .split(/\r\n\r\n|\n\n|\r\r/)
    .filter(block => block.trim() !== '')
    .flatMap(block => {
      const lines = block.split(/\r\n|\n|\r/).map(line => line.replace(/^\ufeff/, ''))
      const value = (name: string): string[] =>
        lines.filter(line => line.startsWith(`${name}:`)).map(line => line.slice(name.length + 1).replace(/^ /, ''))
      const data = value('data').join('\n')
      const [event] = value('event')
      if (event === undefined && data === '') return []
      return [event === undefined ? { data } : { event, data }]
    })
}

/** Asserts that a stream ended with the family's error event and nothing after it; hands out the error. */
export function streamError(t: Test, answer: Answer): CompatibleError {
  t.equal(answer.status, 200)
  t.notMatch(answer.text, /\[DONE\]/, 'no good end')
  const last = eventsOf(answer.text).at(-1)
  const { error } = JSON.parse(last?.data ?? '{}') as { error?: CompatibleError }
  t.ok(error, `the last event is an error: ${last?.data}`)
  if (error === undefined) throw new Error('no error event')
  t.same(Object.keys(error).sort(), ['code', 'message', 'param', 'type'])
  return error
}
