import { signal } from '@preact/signals'
import type { Stats } from '../types.js'

/** How the page hears of the gateway. */
export type Link = 'connecting' | 'live' | 'lost'

export const stats = signal<Stats | undefined>(undefined)
export const link = signal<Link>('connecting')

/** A page that is not looked at gives its stream back after so long, milliseconds: browsers open six to a server. */
const HIDDEN_MS = 30_000

let source: EventSource | undefined
let timer: ReturnType<typeof setTimeout> | undefined

function open(): void {
  if (source !== undefined) return
  source = new EventSource('/admin/live')
  source.addEventListener('stats', event => {
    link.value = 'live'
    stats.value = JSON.parse((event as MessageEvent<string>).data) as Stats
  })
  source.onerror = () => {
    link.value = 'lost'
    // A refusal ends the stream for good; then it is opened anew.
    if (source?.readyState === EventSource.CLOSED) {
      source = undefined
      setTimeout(open, 5000)
    }
  }
}

export function stopLive(): void {
  source?.close()
  source = undefined
}

export function startLive(): void {
  open()
  document.addEventListener('visibilitychange', () => {
    clearTimeout(timer)
    if (document.hidden) timer = setTimeout(stopLive, HIDDEN_MS)
    else open()
  })
}
