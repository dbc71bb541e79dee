import type { Simulator } from '../../../../simulator/src/index.js'
import { ask, type Json } from '../videos/support.js'

export const PNG = `data:image/png;base64,${Buffer.alloc(30).toString('base64')}`

export async function submit(upstream: Simulator, what: string, body: object): Promise<Json> {
  return (await ask(upstream, `/mj/submit/${what}`, body)).body
}

export async function fetchTask(upstream: Simulator, id: string): Promise<Json> {
  return (await ask(upstream, `/mj/task/${id}/fetch`)).body
}

/** A picture that is done at once, and its record. */
export async function drawn(upstream: Simulator, prompt = 'A lighthouse'): Promise<Json> {
  const { result } = await submit(upstream, 'imagine', { prompt: `${prompt} --sim polls=0` })
  return fetchTask(upstream, result)
}
