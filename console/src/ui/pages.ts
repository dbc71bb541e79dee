import type { IconName } from './icon.js'

interface Page {
  readonly name: string
  readonly href: string
  readonly icon: IconName
  /** After `g`, on the keyboard. */
  readonly key: string
}

/** In the order of the side bar. */
export const PAGES: readonly Page[] = [
  { name: 'Overview', href: '/', icon: 'overview', key: 'o' },
  { name: 'Requests', href: '/requests', icon: 'requests', key: 'r' },
  { name: 'Playground', href: '/play', icon: 'play', key: 'p' },
  { name: 'Plan', href: '/plan', icon: 'plan', key: 'l' },
  { name: 'Models', href: '/models', icon: 'models', key: 'm' },
  { name: 'Keys', href: '/keys', icon: 'keys', key: 'k' },
  { name: 'Upstreams', href: '/upstreams', icon: 'upstreams', key: 'u' },
  { name: 'Faults', href: '/faults', icon: 'faults', key: 'x' },
  { name: 'Tasks', href: '/tasks', icon: 'tasks', key: 't' },
  { name: 'Files', href: '/files', icon: 'files', key: 'f' },
]
