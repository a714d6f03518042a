"""Support vector machines and other machines of large margins."""
