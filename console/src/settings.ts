import { effect, signal } from '@preact/signals'

export type Theme = 'system' | 'light' | 'dark'

const KEY = 'gateway-console-theme'
const dark = matchMedia('(prefers-color-scheme: dark)')

function stored(): Theme {
  const value = localStorage.getItem(KEY)
  return value === 'light' || value === 'dark' ? value : 'system'
}

export const theme = signal<Theme>(stored())
/** What is shown: plots draw again when it changes. */
export const shade = signal<'light' | 'dark'>('light')

export function startTheme(): void {
  const show = (): void => {
    shade.value = theme.value === 'system' ? (dark.matches ? 'dark' : 'light') : theme.value
    document.documentElement.dataset.theme = shade.value
  }
  dark.addEventListener('change', show)
  effect(show)
  effect(() => localStorage.setItem(KEY, theme.value))
}

export function otherTheme(): void {
  theme.value = shade.value === 'dark' ? 'light' : 'dark'
}
