import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import type { Answer } from './raw-client.js'
import { asking, type TextClient } from './text-clients.js'

/** What {@link askLarge} knows of an answer. */
export type LargeAnswer = Pick<Answer, 'status' | 'body' | 'text' | 'whole' | 'json'>

/** One exchange whose answer may have a hundred megabytes, over Node's own client: it reads in linear time. */
export async function askLarge(
  origin: string,
  key: string,
  client: TextClient,
  model: string,
  stream: boolean,
): Promise<LargeAnswer> {
  const [path, { headers, body }] = asking(client, key, model, stream)
  const sent = request(new URL(path, origin), {
    method: 'POST',
    agent: false,
    headers: { ...headers, 'content-type': 'application/json' },
  })
  sent.end(JSON.stringify(body))
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  const bytes = Buffer.concat(chunks)
  const text = bytes.toString('utf8')
  return {
    status: response.statusCode ?? 0,
    body: bytes,
    text,
    whole: response.complete,
    json: () => JSON.parse(text) as unknown,
  }
}
