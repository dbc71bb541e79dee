import OpenAI from 'openai'
import { OpenAIRealtimeWS } from 'openai/realtime/ws'
import type { RealtimeClientEvent, RealtimeServerEvent } from 'openai/resources/realtime/realtime'
import type t from 'tap'
import type { TestGateway } from './gateway.js'
import { Journal } from './journal.js'

type Test = Pick<typeof t, 'teardown'>

/** A session of the official client. It speaks TLS only, regardless of what its base address says. */
export class Conversation {
  readonly socket: OpenAIRealtimeWS
  readonly events = new Journal<RealtimeServerEvent>('events')

  constructor(test: Test, gateway: TestGateway, model: string) {
    const sdk = new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.origin}/v1` })
    this.socket = new OpenAIRealtimeWS({ model, options: { rejectUnauthorized: false } }, sdk)
    this.socket.on('event', event => this.events.push(event))
    this.socket.on('error', () => undefined)
    test.teardown(() => this.socket.socket.terminate())
  }

  send(...events: readonly RealtimeClientEvent[]): void {
    for (const event of events) this.socket.send(event)
  }

  /** The first event of a type. */
  async event<T extends RealtimeServerEvent['type']>(type: T): Promise<RealtimeServerEvent & { type: T }> {
    return (await this.events.find(event => event.type === type)) as RealtimeServerEvent & { type: T }
  }

  all<T extends RealtimeServerEvent['type']>(type: T): (RealtimeServerEvent & { type: T })[] {
    return this.events.items.filter((event): event is RealtimeServerEvent & { type: T } => event.type === type)
  }
}
