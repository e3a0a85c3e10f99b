/** A promise and what resolves it: `held` until `letGo()`. */
export function aGate(): { readonly held: Promise<void>; readonly letGo: () => void } {
  let letGo = () => {};
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  return { held, letGo };
}
