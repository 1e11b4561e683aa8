"""What keeps the trail checkable: chain and tree, checkpoints, anchors, verification, bundles. `audit` writes it."""
