import { type Signal, useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { call, messageOf } from '../api.js'

export interface Fetched<T> {
  readonly data: Signal<T | undefined>
  readonly error: Signal<string | undefined>
  again(): void
}

/** The answer of a path: read at once, whenever the path changes, and every so many milliseconds. Old data stay until new ones are there. */
export function useFetched<T>(path: string | undefined, everyMs?: number): Fetched<T> {
  const data = useSignal<T | undefined>(undefined)
  const error = useSignal<string | undefined>(undefined)
  const load = useRef<() => void>(() => undefined)
  useEffect(() => {
    if (path === undefined) return
    const leaving = new AbortController()
    const { signal } = leaving
    const read = async (): Promise<void> => {
      try {
        data.value = await call<T>(path, { signal })
        error.value = undefined
      } catch (cause) {
        if (!signal.aborted) error.value = messageOf(cause)
      }
    }
    load.current = () => void read()
    void read()
    const timer = everyMs === undefined ? undefined : setInterval(() => document.hidden || void read(), everyMs)
    return () => {
      clearInterval(timer)
      leaving.abort()
    }
  }, [path, everyMs])
  return { data, error, again: () => load.current() }
}
