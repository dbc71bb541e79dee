import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type t from 'tap'
import { DONE, PICTURE } from './image-upstream.js'
import { listening } from './listening.js'
import type { Marks, Step } from './marks.js'
import { film } from './task-upstream.js'

type Test = Pick<typeof t, 'teardown'>

/** The part of an answer that differs from task to task. */
export interface Said {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Buffer | object
}

/** What a task's upstream says of it where that is not the usual. `count`: how many answers came before to the same step. */
export type Says = (step: Step, count: number) => Said | undefined

export interface MarkedUpstream {
  readonly origin: string
  /** How often a task was begun there, by name. */
  readonly submits: ReadonlyMap<string, number>
  /** What is said of the task of that name. */
  says(name: string, says: Says): void
  /** What receivers of that task's webhooks answer. */
  statusFor(name: string, count: number): number
}

/** The name of a task: a part of its client's request. */
export const NAMED = /name:([a-z0-9-]+\.\d+)/

/** An upstream of films and images that stops where marks say so. Under `/busy` it takes nothing. */
export async function markedUpstream(t: Test, marks: Marks): Promise<MarkedUpstream> {
  const submits = new Map<string, number>()
  const names = new Map<string, string>()
  const scripts = new Map<string, Says>()

  const begin = async (request: IncomingMessage, response: ServerResponse, image: boolean): Promise<void> => {
    const name = await nameIn(request, name => marks.reached(name, 'submit')?.how === 'half read')
    if (name === undefined) return void response.destroy()
    submits.set(name, (submits.get(name) ?? 0) + 1)
    const id = image ? `13200981734${10_000 + names.size}` : `vid_${names.size}`
    names.set(id, name)
    const taken = image
      ? { code: 1, description: '提交成功', result: id, properties: {} }
      : { id, object: 'video', status: 'queued', progress: 0 }
    answer(response, name, 'submit', { body: taken })
  }

  const answer = (response: ServerResponse, name: string, step: Step, usual: Said): void => {
    const said = { ...usual, ...scripts.get(name)?.(step, marks.answered(name, step)) }
    const send = (): void => {
      marks.note(name, step)
      write(response, said)
    }
    marks.seen.push(`${name} ${step}`)
    const mark = marks.reached(name, step)
    if (mark === undefined) {
      send()
      return
    }
    if (mark.how === 'half answered') write(response, said, true)
    const { gone } = marks.park(name, mark, send)
    response.on('close', gone)
  }

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = '', url = '' } = request
    if (url.startsWith('/busy/')) {
      request.resume()
      await once(request, 'end')
      return write(response, { status: 503, body: { error: { message: 'Too much to do.' } } })
    }
    if (method === 'POST' && !url.endsWith('/cancel')) return await begin(request, response, url.startsWith('/mj/'))
    request.resume()
    await once(request, 'end')
    const [, filmId, below] = /^\/v1\/videos\/([^/]+)(?:\/(\w+))?$/.exec(url) ?? []
    const [, imageId] = /^\/mj\/task\/([^/]+)\/fetch$/.exec(url) ?? []
    const id = filmId ?? imageId ?? ''
    const name = names.get(id) ?? ''
    const count = marks.answered(name, 'poll')
    if (imageId !== undefined) return answer(response, name, 'poll', imageRecord(id, count))
    if (filmId === undefined) return write(response, { body: PICTURE, headers: { 'content-type': 'image/png' } })
    if (method === 'DELETE') return answer(response, name, 'delete', { body: { id, deleted: true } })
    if (below === 'cancel') return answer(response, name, 'cancel', { body: { id, status: 'cancelled' } })
    if (below === undefined) return answer(response, name, 'poll', filmRecord(id, count))
    const { range } = request.headers
    answer(response, name, range === 'bytes=0-0' ? 'proof' : 'content', film(range) as Said)
  }

  const server = createServer((request, response) => {
    // Anyone who asks is killed in the middle of it.
    request.on('error', () => undefined)
    response.on('error', () => undefined)
    serve(request, response).catch(() => response.destroy())
  })
  const origin = `http://127.0.0.1:${await listening(t, server)}`
  return {
    origin,
    submits,
    says: (name, says) => void scripts.set(name, says),
    statusFor: (name, count) => scripts.get(name)?.('told', count)?.status ?? 204,
  }
}

/** The name in a body that is read to its end, or, where `enough` says so, only until the name is there. */
async function nameIn(request: IncomingMessage, enough: (name: string) => boolean): Promise<string | undefined> {
  let text = ''
  let name: string | undefined
  // Left before its end, the request stays open, and is read no further.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    if (name !== undefined) continue
    text += (chunk as Buffer).toString('latin1')
    name = NAMED.exec(text)?.[1]
    if (name !== undefined && enough(name)) return name
  }
  return name
}

function write(response: ServerResponse, { status = 200, headers, body = {} }: Said, half = false): void {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body))
  const type = Buffer.isBuffer(body) ? 'video/mp4' : 'application/json'
  response.writeHead(status, { 'content-type': type, 'content-length': bytes.length, ...headers })
  if (half) response.write(bytes.subarray(0, bytes.length / 2))
  else response.end(bytes)
}

const FILM_COURSE = [
  { status: 'running', progress: 10 },
  { status: 'running', progress: 60 },
  { status: 'completed', progress: 100 },
]

function filmRecord(id: string, count: number): Said {
  return { body: { id, object: 'video', ...FILM_COURSE[Math.min(count, FILM_COURSE.length - 1)] } }
}

function imageRecord(id: string, count: number): Said {
  const state = count === 0 ? { status: 'IN_PROGRESS', progress: '31%' } : DONE
  return { body: { id, action: 'IMAGINE', ...state } }
}
