/** Strokes on a field of 24: drawn for this console. */
const PATHS = {
  overview: 'M3 3h7v9H3zM14 3h7v5h-7zM14 12h7v9h-7zM3 16h7v5H3z',
  requests: 'M8 5h13M8 12h13M8 19h13M3 5h.01M3 12h.01M3 19h.01',
  play: 'M21 4H3v17l4-4h14zM9 8.5l4 2.5-4 2.5',
  plan: 'M6 3v6M6 15v6M6 9a3 3 0 0 0 3 3h6a3 3 0 0 1 3-3V3M18 15v6M15 12a3 3 0 0 1 3 3M9 12a3 3 0 0 0-3 3',
  models: 'M12 3l9 5-9 5-9-5zM3 12l9 5 9-5M3 16l9 5 9-5',
  keys: 'M15 3a6 6 0 1 0 4.5 9.9A6 6 0 0 0 15 3M10.5 13.5L3 21v-4h3v-3h3M16 8h.01',
  upstreams: 'M3 3h18v7H3zM3 14h18v7H3zM7 6.5h.01M7 17.5h.01',
  faults: 'M13 2L4 14h7l-1 8 10-13h-8z',
  tasks: 'M13 5h8M13 12h8M13 19h8M3 6l2 2 4-4M3 16l2 2 4-4',
  docs: 'M5 3h11l3 3v15H5zM9 9h6M9 13h6M9 17h4',
  files: 'M14 2H5v20h14V7zM14 2v5h5M8 13h8M8 17h5',
  more: 'M4 5h16M4 12h16M4 19h16',
  search: 'M11 4a7 7 0 1 0 0 14a7 7 0 0 0 0-14M20 20l-4-4',
  theme: 'M12 3a9 9 0 1 0 9 9a7 7 0 0 1-9-9',
  ok: 'M12 2a10 10 0 1 0 0 20a10 10 0 0 0 0-20M8 12l3 3 5-6',
  warn: 'M12 3L2 20h20zM12 10v4M12 17h.01',
  bad: 'M8 2h8l6 6v8l-6 6H8l-6-6V8zM9 9l6 6M15 9l-6 6',
  probing: 'M12 2a10 10 0 0 1 10 10M12 22A10 10 0 0 1 2 12M12 12h.01',
  idle: 'M12 2a10 10 0 0 1 4 1M20 6a10 10 0 0 1 2 5M21 15a10 10 0 0 1-3 5M14 22a10 10 0 0 1-5 0M5 20a10 10 0 0 1-3-5M2 11a10 10 0 0 1 2-5',
  back: 'M15 5l-7 7 7 7',
  close: 'M5 5l14 14M19 5L5 19',
  copy: 'M8 8h13v13H8zM16 8V3H3v13h5',
  leave: 'M9 3H3v18h6M15 7l5 5-5 5M20 12H8',
} as const

export type IconName = keyof typeof PATHS

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="i" viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  )
}
