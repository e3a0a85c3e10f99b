import type { ComponentChildren } from 'preact';

/** Shows words beside a part of a picture, on the side with room, so that they stay within the picture. */
export function Tip({
  at: { left, top, width, height },
  within,
  children,
}: {
  at: { left: number; top: number; width: number; height: number };
  /** The size of the picture. */
  within: { width: number; height: number };
  children: ComponentChildren;
}) {
  const x = left + width / 2;
  const side = x > within.width / 2 ? { right: `calc(100% - ${x}px)` } : { left: `${x}px` };
  const level =
    top < within.height / 2 ? { top: `${top + height + 6}px` } : { bottom: `calc(100% - ${top - 6}px)` };
  return (
    <div class="tip" aria-hidden="true" style={{ ...side, ...level }}>
      {children}
    </div>
  );
}
