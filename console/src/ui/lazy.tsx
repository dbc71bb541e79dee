import { useSignal } from '@preact/signals'
import type { ComponentType } from 'preact'
import { useEffect } from 'preact/hooks'

/** A part of a page that is loaded when it is first shown. */
export function lazyPart(load: () => Promise<ComponentType>): ComponentType {
  return function Later() {
    const found = useSignal<{ readonly Part: ComponentType } | undefined>(undefined)
    useEffect(() => {
      void load().then(Part => {
        found.value = { Part }
      })
    }, [])
    const { Part } = found.value ?? {}
    return Part === undefined ? <div class="loading" role="status" aria-label="Loading" /> : <Part />
  }
}
