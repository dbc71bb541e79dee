import { signal } from '@preact/signals'
import { ApiError, call } from '../api.js'
import type { Stats } from '../types.js'
import { session } from './session.js'

/** How the page hears of the gateway. */
export type Link = 'connecting' | 'live' | 'lost'

export const stats = signal<Stats | undefined>(undefined)
export const link = signal<Link>('connecting')

/** A page that is not looked at gives its stream back after so long, milliseconds: browsers open six to a server. */
const HIDDEN_MS = 30_000
/** A stream that was refused is opened anew after so long, milliseconds. */
const RETRY_MS = 5000

let isWanted = false
let source: EventSource | undefined
let retry: ReturnType<typeof setTimeout> | undefined
let hiding: ReturnType<typeof setTimeout> | undefined

function open(): void {
  if (!isWanted || document.hidden || source !== undefined) return
  clearTimeout(retry)
  source = new EventSource('/admin/live')
  source.addEventListener('stats', event => {
    link.value = 'live'
    stats.value = JSON.parse((event as MessageEvent<string>).data) as Stats
  })
  source.onerror = () => {
    link.value = 'lost'
    if (source?.readyState !== EventSource.CLOSED) return
    pause()
    retry = setTimeout(open, RETRY_MS)
    void call('/admin/session').catch(leave)
  }
}

/** A stream does not say why it is refused: where the session is over, it is over here. */
function leave(cause: unknown): void {
  if (!isWanted || !(cause instanceof ApiError) || cause.status !== 401) return
  stopLive()
  session.value = 'none'
}

function pause(): void {
  clearTimeout(retry)
  source?.close()
  source = undefined
}

export function stopLive(): void {
  isWanted = false
  pause()
}

export function startLive(): void {
  isWanted = true
  open()
}

document.addEventListener('visibilitychange', () => {
  clearTimeout(hiding)
  if (document.hidden) hiding = setTimeout(pause, HIDDEN_MS)
  else open()
})
