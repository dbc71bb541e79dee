import { computed, signal } from '@preact/signals'

/** What is looked at: the address is the only place of it. */
export const address = signal(new URL(location.href))

export const path = computed(() => address.value.pathname)

export function parameter(name: string): string | undefined {
  return address.value.searchParams.get(name) ?? undefined
}

export function go(to: string): void {
  history.pushState(null, '', to)
  address.value = new URL(location.href)
  window.scrollTo(0, 0)
}

/** Changes parameters of the address; undefined removes one. `replace`: the step back leads past it. */
export function setParameters(changes: Readonly<Record<string, string | undefined>>, replace = false): void {
  const next = new URL(location.href)
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === '') next.searchParams.delete(name)
    else next.searchParams.set(name, value)
  }
  next.searchParams.sort()
  history[replace ? 'replaceState' : 'pushState'](null, '', next)
  address.value = next
}

/** Links inside the console change the address without loading the page. */
export function followLinks(): void {
  window.addEventListener('popstate', () => {
    address.value = new URL(location.href)
  })
  document.addEventListener('click', event => {
    const link = (event.target as Element | null)?.closest('a')
    if (link === null || link === undefined || link.origin !== location.origin || link.hasAttribute('download')) return
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || link.target !== '') return
    if (link.getAttribute('href')?.startsWith('#') === true) return
    event.preventDefault()
    go(link.pathname + link.search)
  })
}
