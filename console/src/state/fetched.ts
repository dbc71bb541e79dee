import { type Signal, useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { ApiError, call, messageOf } from '../api.js'

export interface Fetched<T> {
  readonly data: Signal<T | undefined>
  readonly error: Signal<string | undefined>
  /** Whether there is no such thing; then it has no data, and that is not an error. */
  readonly isMissing: Signal<boolean>
  again(): void
}

/** The answer of a path: read at once, whenever the path changes, and every so many milliseconds. Old data stay until new ones are there. */
export function useFetched<T>(path: string | undefined, everyMs?: number): Fetched<T> {
  const data = useSignal<T | undefined>(undefined)
  const error = useSignal<string | undefined>(undefined)
  const isMissing = useSignal(false)
  const load = useRef<() => void>(() => undefined)
  useEffect(() => {
    error.value = undefined
    isMissing.value = false
    if (path === undefined) return
    const leaving = new AbortController()
    const { signal } = leaving
    let isReading = false
    const read = async (): Promise<void> => {
      isReading = true
      try {
        data.value = await call<T>(path, { signal })
        error.value = undefined
        isMissing.value = false
      } catch (cause) {
        if (signal.aborted) return
        isMissing.value = cause instanceof ApiError && cause.status === 404
        error.value = isMissing.value ? undefined : messageOf(cause)
        if (isMissing.value) data.value = undefined
      } finally {
        isReading = false
      }
    }
    load.current = () => void read()
    void read()
    const timer =
      everyMs === undefined ? undefined : setInterval(() => document.hidden || isReading || void read(), everyMs)
    return () => {
      clearInterval(timer)
      leaving.abort()
    }
  }, [path, everyMs])
  return { data, error, isMissing, again: () => load.current() }
}
