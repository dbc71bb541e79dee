import type { Simulator } from '../../../../simulator/src/index.js'

// biome-ignore lint/suspicious/noExplicitAny: answers of several protocols are looked into freely here
export type Json = any

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: Json
}

/** Sends JSON, or nothing, and reads JSON. */
export async function ask(
  { origin }: Simulator,
  path: string,
  body?: object,
  {
    method = body === undefined ? 'GET' : 'POST',
    headers = {},
  }: { method?: string; headers?: Record<string, string> } = {},
): Promise<Answer> {
  const sent = { method, headers: { 'content-type': 'application/json', ...headers } }
  const answer = await fetch(`${origin}${path}`, body === undefined ? sent : { ...sent, body: JSON.stringify(body) })
  const text = await answer.text()
  return { status: answer.status, headers: answer.headers, body: text === '' ? undefined : JSON.parse(text) }
}

/** Downloads from an address or a path. */
export async function download(
  { origin }: Simulator,
  target: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ status: number; headers: Headers; bytes: Buffer }> {
  const answer = await fetch(new URL(target, origin), { headers })
  return { status: answer.status, headers: answer.headers, bytes: Buffer.from(await answer.arrayBuffer()) }
}

/** A clock that only a test moves. */
export class Clock {
  #now = Date.parse('2026-01-02T03:04:05Z')
  readonly now = (): number => this.#now

  pass(milliseconds: number): void {
    this.#now += milliseconds
  }
}
